"""SyncBatchNorm: batch normalisation over the batches of all ranks."""

import torch
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from .handles import synchronize
from .operations import allreduce_async_
from .process_sets import global_process_set
from .reductions import Sum


def _summed(*vectors):
    """The sums of vectors over the ranks, as one operation."""
    flat = torch.cat([vector.flatten() for vector in vectors])
    flat = synchronize(allreduce_async_(flat, op=Sum))
    return flat.split([vector.numel() for vector in vectors])


def _by_channel(vector, like):
    return vector.view(1, -1, *[1] * (like.dim() - 2))


class _Normalise(torch.autograd.Function):
    """(input, weight, bias, eps) to the output, with what the running statistics
    need: the mean, the variance, and of how many values per channel."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        axes = [axis for axis in range(x.dim()) if axis != 1]
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        # In float64: the mean of squares and the square of the mean may be close.
        exact = {"dim": axes, "dtype": torch.float64}
        own = torch.tensor([x.numel() // x.shape[1]], dtype=torch.float64)
        sums, squares, count = _summed(
            wide.sum(**exact), (wide * wide).sum(**exact), own
        )
        mean = sums / count
        variance = (squares / count - mean * mean).clamp_(min=0)
        inverse = torch.rsqrt(variance + eps).to(wide.dtype)
        mean, variance, count = (t.to(wide.dtype) for t in (mean, variance, count))
        normal = (wide - _by_channel(mean, x)) * _by_channel(inverse, x)
        ctx.save_for_backward(normal, weight, inverse, count)
        ctx.mark_non_differentiable(mean, variance, count)
        output = normal
        if weight is not None:
            output = normal * _by_channel(weight, x) + _by_channel(bias, x)
        return output.to(x.dtype), mean, variance, count

    @staticmethod
    def backward(ctx, gradient, *_):
        normal, weight, inverse, count = ctx.saved_tensors
        axes = [axis for axis in range(normal.dim()) if axis != 1]
        wide = gradient.to(normal.dtype)
        # Those of this rank's batch: the optimizer reduces them with the others.
        of_bias = wide.sum(axes)
        of_weight = (wide * normal).sum(axes)
        sums, products = _summed(of_bias, of_weight)
        factor = inverse if weight is None else inverse * weight
        of_input = wide - _by_channel(sums / count, normal)
        of_input = of_input - normal * _by_channel(products / count, normal)
        of_input = (of_input * _by_channel(factor, normal)).to(gradient.dtype)
        if weight is None:
            return of_input, None, None, None
        return of_input, of_weight.to(weight.dtype), of_bias.to(weight.dtype), None


class SyncBatchNorm(_BatchNorm):
    """torch.nn.BatchNorm whose mean and variance are those of all ranks' batches
    together: while training, and also afterwards if there are no running ones. The
    batches may differ in size."""

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _in_batch(self, x):
        weight, bias = self.weight, self.bias
        output, mean, variance, count = _Normalise.apply(x, weight, bias, self.eps)
        if self.track_running_stats:
            with torch.no_grad():
                self._follow(mean, variance, count)
        return output

    def _follow(self, mean, variance, count):
        self.num_batches_tracked += 1
        momentum = self.momentum
        if momentum is None:
            momentum = 1.0 / float(self.num_batches_tracked)
        unbiased = variance * count / (count - 1).clamp(min=1)
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum)
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), momentum)

    def forward(self, input):
        self._check_input_dim(input)
        of_batch = self.training or not self.track_running_stats
        if of_batch and global_process_set.size() > 1:
            return self._in_batch(input)
        if self.training and self.track_running_stats:
            self.num_batches_tracked += 1
        momentum = self.momentum
        if momentum is None and self.training and self.track_running_stats:
            momentum = 1.0 / float(self.num_batches_tracked)
        return functional.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            of_batch,
            momentum or 0.0,
            self.eps,
        )

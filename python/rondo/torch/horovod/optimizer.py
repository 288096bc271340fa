"""DistributedOptimizer: an optimizer whose gradients are reduced over the ranks."""

import contextlib
import warnings

import torch

from . import basics
from .compression import Compression
from .handles import synchronize
from .operations import (
    allreduce_async_,
    grouped_allreduce_async_,
    sparse_allreduce_async,
)
from .process_sets import global_process_set
from .reductions import Adasum, Average


def _named(optimizer, named_parameters):
    """{parameter: name} of the optimizer's parameters, which may be some of those
    that are named; an error for names that will not do."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if named_parameters is None:
        return {p: f"allreduce.noname.{i}" for i, p in enumerate(parameters)}
    pairs = list(named_parameters)
    if any(not isinstance(pair, tuple) for pair in pairs):
        raise ValueError(
            "named_parameters should be a sequence of tuples (name, parameter), "
            "usually produced by model.named_parameters()."
        )
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            "Parameter names in named_parameters must be unique. Found duplicates: "
            + ", ".join(twice)
        )
    known = {parameter: name for name, parameter in pairs}
    without = [i for i, p in enumerate(parameters) if p not in known]
    if without:
        raise ValueError(
            "named_parameters was specified, but one or more model parameters were "
            f"not named: {without} of the optimizer's {len(parameters)} parameters"
        )
    return {p: known[p] for p in parameters}


def _grouped(parameters, groups):
    """{parameter: the tuple of parameters that it is reduced with}."""
    if groups is None:
        return {}
    if isinstance(groups, int) and not isinstance(groups, bool):
        if groups < 0:
            raise ValueError(
                "groups should be a non-negative integer or a list of lists"
            )
        if groups == 0:
            return {}
        each, more = divmod(len(parameters), groups)
        begins = [i * each + min(i, more) for i in range(groups + 1)]
        parts = [parameters[a:b] for a, b in zip(begins, begins[1:], strict=False)]
    elif isinstance(groups, (list, tuple)) and all(
        isinstance(part, (list, tuple)) for part in groups
    ):
        members = [p for part in groups for p in part]
        if not all(isinstance(p, torch.Tensor) for p in members):
            raise ValueError("groups must consist of torch.Tensor")
        if len(set(members)) < len(members):
            raise ValueError("groups: a parameter is in more than one group")
        # Those of layers that are frozen have no gradients.
        needed = set(parameters)
        parts = [[p for p in part if p in needed] for part in groups]
    else:
        raise ValueError("groups should be a non-negative integer or a list of lists")
    return {p: tuple(part) for part in parts for p in part}


class _Distributed:
    """What is put before an optimizer's own class."""

    def _distribute(self, named_parameters):
        self._names = _named(self, named_parameters)
        self._needed = [p for p in self._names if p.requires_grad]
        self._group_of = _grouped(self._needed, self._groups)
        self._left = dict.fromkeys(self._needed, self.backward_passes_per_step)
        self._handles = {}  # parameter or group: (handle, what it was made of)
        self._ready = {}  # group: parameters whose gradients are there
        self._sparse = {}  # parameter with sparse gradients: their sparse_dim()
        self._synchronized = False
        self._should_synchronize = True
        self._hooks = [
            p.register_post_accumulate_grad_hook(self._on_gradient)
            for p in self._needed
        ]

    def _reduces(self):
        self.process_set.check_made()
        return self.process_set.included() and self.process_set.size() > 1

    def set_backward_passes_per_step(self, passes):
        """How many backward passes add up before gradients are reduced."""
        self.backward_passes_per_step = passes
        self._restart()

    def _restart(self):
        self._left = dict.fromkeys(self._needed, self.backward_passes_per_step)

    def load_state_dict(self, *args, **kwargs):
        self._handles = {}
        self._ready = {}
        self._synchronized = False
        self._should_synchronize = True
        self._restart()
        super().load_state_dict(*args, **kwargs)

    # ---- Reducing -----------------------------------------------------------

    def _on_gradient(self, p):
        if not self._reduces():
            return
        if self._left[p] <= 0:
            raise AssertionError(
                "Gradients were computed more than backward_passes_per_step times "
                "before call to step(). Increase backward_passes_per_step to "
                "accumulate gradients locally."
            )
        self._left[p] -= 1
        if self._left[p] > 0:
            return
        group = self._group_of.get(p)
        if group is None:
            self._handles[p] = self._reduce(p)
            return
        ready = self._ready.setdefault(group, set())
        ready.add(p)
        if len(ready) == len(group):
            del self._ready[group]
            self._handles[group] = self._reduce_group(group)

    def _scales(self):
        factor = self.gradient_predivide_factor
        return {"prescale_factor": 1.0 / factor, "postscale_factor": factor}

    def _gradient(self, p):
        """Zeros where none was computed: another rank may have one."""
        if p.grad is None:
            p.grad = self._zeros(p)
        if not p.grad.is_sparse:
            return p.grad
        self._sparse[p] = p.grad.sparse_dim()
        return p.grad.to_dense() if self.sparse_as_dense else p.grad

    def _zeros(self, p):
        """Sparse ones where gradients have been: the ranks have to be alike."""
        if p not in self._sparse:
            return torch.zeros_like(p)
        indices = torch.empty(self._sparse[p], 0, dtype=torch.int64)
        values = p.new_empty([0, *p.shape[self._sparse[p] :]])
        return torch.sparse_coo_tensor(indices, values, p.shape)

    def _reduce(self, p):
        gradient = self._gradient(p)
        options = {"op": self.op, "process_set": self.process_set}
        if gradient.is_sparse:
            handle = sparse_allreduce_async(gradient, self._names[p], **options)
            return handle, None
        packed, ctx = self._compression.compress(gradient)
        options.update(self._scales())
        return allreduce_async_(packed, name=self._names[p], **options), ctx

    def _reduce_group(self, group):
        gradients = [self._gradient(p) for p in group]
        if any(gradient.is_sparse for gradient in gradients):
            raise ValueError("groups need dense gradients: give sparse_as_dense=True")
        compress = self._compression.compress
        packed, ctxs = zip(*map(compress, gradients), strict=True)
        handle = grouped_allreduce_async_(
            packed,
            name=f"group of {self._names[group[0]]}",
            op=self.op,
            process_set=self.process_set,
            **self._scales(),
        )
        return handle, ctxs

    def _begin_missing(self):
        """Reduces what no backward pass has reached, or not often enough."""
        begun = set(self._handles)
        for p in self._needed:
            key = self._group_of.get(p, p)
            if key not in begun:
                begun.add(key)
                grouped = isinstance(key, tuple)
                begin = self._reduce_group if grouped else self._reduce
                self._handles[key] = begin(key)
        self._ready = {}

    def _put(self, p, reduced, ctx):
        if reduced.is_sparse:
            p.grad = reduced
            return
        reduced = self._compression.decompress(reduced, ctx)
        if p.grad.is_sparse:  # as some optimizers need it
            p.grad = reduced.to_sparse(p.grad.sparse_dim())
        elif reduced is not p.grad:
            p.grad.copy_(reduced)

    def synchronize(self):
        """Waits until all gradients have been reduced. Where some cannot be, for
        those that can too: none is under way afterwards."""
        if self._reduces():
            self._begin_missing()
        handles, self._handles = self._handles, {}
        self._restart()
        errors = []
        for key, (handle, ctx) in handles.items():
            try:
                results = synchronize(handle)
            except Exception as error:
                errors.append(error)
                continue
            if not isinstance(key, tuple):
                key, results, ctx = (key,), [results], [ctx]
            for p, reduced, one in zip(key, results, ctx, strict=True):
                self._put(p, reduced, one)
        if errors:
            raise errors[0]
        self._synchronized = True

    @contextlib.contextmanager
    def skip_synchronize(self):
        """Within it step() does not synchronize: synchronize() was called."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def step(self, closure=None):
        if self._should_synchronize:
            if self._synchronized:
                warnings.warn(
                    "optimizer.step() called without optimizer.skip_synchronize() "
                    "context after optimizer.synchronize(). This can cause training "
                    "slowdown. You may want to consider using "
                    "optimizer.skip_synchronize() context if you use "
                    "optimizer.synchronize() in your code.",
                    stacklevel=2,
                )
            self.synchronize()
        self._synchronized = False
        return super().step(closure)

    step.hooked = True  # the inner step calls the hooks of Optimizer

    def zero_grad(self, *args, **kwargs):
        if self._handles:
            raise AssertionError(
                "optimizer.zero_grad() was called after loss.backward() but before "
                "optimizer.step() or optimizer.synchronize(). This is prohibited as it "
                "can cause a race condition."
            )
        return super().zero_grad(*args, **kwargs)


class _DistributedAdasum:
    """Each rank takes a step by its own gradients; the steps are combined."""

    def _distribute(self, named_parameters):
        self._names = _named(self, named_parameters)

    def set_backward_passes_per_step(self, passes):
        self.backward_passes_per_step = passes

    def synchronize(self):
        """Nothing is under way between steps."""

    @contextlib.contextmanager
    def skip_synchronize(self):
        raise AssertionError(
            "Skipping synchronization is not supported when using Adasum optimizer."
        )
        yield

    @torch.no_grad()
    def step(self, closure=None):
        begins = {p: p.detach().clone() for p in self._names if p.requires_grad}
        with torch.enable_grad():
            loss = super().step(closure)
        handles = []
        for p, begin in begins.items():
            packed, ctx = self._compression.compress(p.detach() - begin)
            handle = allreduce_async_(
                packed, name=self._names[p], op=Adasum, process_set=self.process_set
            )
            handles.append((p, handle, ctx))
        for p, handle, ctx in handles:
            delta = self._compression.decompress(synchronize(handle), ctx)
            p.copy_(begins[p] + delta)
        return loss

    step.hooked = True


def DistributedOptimizer(
    optimizer,
    named_parameters=None,
    compression=Compression.none,
    backward_passes_per_step=1,
    op=Average,
    gradient_predivide_factor=1.0,
    num_groups=0,
    groups=None,
    sparse_as_dense=False,
    process_set=global_process_set,
):
    """An optimizer like `optimizer` that reduces each gradient over the ranks as
    soon as a backward pass has computed it, while the pass goes on.

    step() waits for them. To change gradients before that, as clipping does:

        optimizer.synchronize()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with optimizer.skip_synchronize():
            optimizer.step()
    """
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if backward_passes_per_step < 1:
        raise ValueError("backward_passes_per_step must be > 0")
    if num_groups:
        warnings.warn(
            "num_groups is deprecated; use groups", DeprecationWarning, stacklevel=2
        )
        groups = num_groups if groups is None else groups
    alone = basics.size() == 1
    before = _DistributedAdasum if op == Adasum and not alone else _Distributed
    inner = type(optimizer)
    made = object.__new__(type(inner.__name__, (before, inner), {}))
    made.__dict__.update(optimizer.__dict__)
    # A scheduler that was made before has put the optimizer's own step there.
    made.__dict__.pop("step", None)
    made._compression = compression
    made.backward_passes_per_step = backward_passes_per_step
    made.op = op
    made.gradient_predivide_factor = gradient_predivide_factor
    made._groups = groups
    made.sparse_as_dense = sparse_as_dense
    made.process_set = process_set
    made._distribute(named_parameters)
    return made

"""Batch normalization."""

from .. import initializers
from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..framework.graph import GraphKeys
from ..framework.variable_scope import get_variable, variable_scope
from ..ops import array, control, nn
from .arguments import extent_of


def batch_normalization(
    inputs,
    axis=-1,
    momentum=0.99,
    epsilon=1e-3,
    center=True,
    scale=True,
    beta_initializer=None,
    gamma_initializer=None,
    moving_mean_initializer=None,
    moving_variance_initializer=None,
    training=False,
    trainable=True,
    name=None,
    reuse=None,
):
    """Channels normalised over all other axes: by the batch while training, else by
    moving averages, whose updates are in the collection GraphKeys.UPDATE_OPS.
    `training` may be a bool tensor."""
    x = convert_to_tensor(inputs)
    rank = x.shape.ndims
    axis = axis + rank if rank and axis < 0 else axis
    if not (rank == 4 and axis in (1, 3)) and not (rank == 2 and axis == 1):
        raise InvalidArgumentError(
            f"batch_normalization: axis {axis} of an input of shape {x.shape}; "
            "expected the channels of images or of a matrix"
        )
    channels = extent_of(x, axis, "batch_normalization")

    def variable(what, initializer, learned):
        return get_variable(
            what, [channels], x.dtype, initializer, trainable=learned and trainable
        )

    zeros, ones = initializers.zeros, initializers.ones
    with variable_scope(name, "batch_normalization", reuse=reuse):
        gamma = (
            variable("gamma", gamma_initializer or ones(), True)
            if scale
            else array.ones([channels], x.dtype)
        )
        beta = (
            variable("beta", beta_initializer or zeros(), True)
            if center
            else array.zeros([channels], x.dtype)
        )
        mean = variable("moving_mean", moving_mean_initializer or zeros(), False)
        variance = variable(
            "moving_variance", moving_variance_initializer or ones(), False
        )
        images = x if rank == 4 else array.reshape(x, [-1, 1, 1, channels])
        layout = "NCHW" if rank == 4 and axis == 1 else "NHWC"

        def normalised(by_batch):
            return nn.fused_batch_norm(
                images,
                gamma,
                beta,
                None if by_batch else mean,
                None if by_batch else variance,
                epsilon,
                layout,
                by_batch,
            )

        decided = hasattr(training, "graph")
        if decided:

            def averages():
                made, _, _ = normalised(False)
                # The averages stay as they are.
                return [made, array.identity(mean), array.identity(variance)]

            y, batch_mean, batch_variance = control.cond(
                training, lambda: list(normalised(True)), averages
            )
            y.set_shape(images.shape)
        else:
            y, batch_mean, batch_variance = normalised(bool(training))
        if decided or training:
            for average, now in ((mean, batch_mean), (variance, batch_variance)):
                step = (average - now) * (1 - momentum)
                x.graph.add_to_collection(
                    GraphKeys.UPDATE_OPS, average.assign_sub(step).op
                )
        return y if rank == 4 else array.reshape(y, [-1, channels])

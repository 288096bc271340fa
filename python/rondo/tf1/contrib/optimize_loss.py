"""optimize_loss: a training operation by the name of an optimizer."""

import rondo as rd

from ...errors import InvalidArgumentError
from ...framework.graph import GraphKeys

OPTIMIZER_CLS_NAMES = {
    "Adagrad": rd.train.AdagradOptimizer,
    "Adam": rd.train.AdamOptimizer,
    "Ftrl": rd.train.FtrlOptimizer,
    "Momentum": lambda learning_rate: rd.train.MomentumOptimizer(learning_rate, 0.9),
    "RMSProp": rd.train.RMSPropOptimizer,
    "SGD": rd.train.GradientDescentOptimizer,
}


def optimize_loss(
    loss, global_step, learning_rate, optimizer, gradient_noise_scale=None,
    gradient_multipliers=None, clip_gradients=None, learning_rate_decay_fn=None,
    update_ops=None, variables=None, name=None, summaries=None,
    colocate_gradients_with_ops=False, increment_global_step=True,
):  # fmt: skip
    """A training operation that gives the loss: optimizer is a name, a class or an
    object."""
    if gradient_noise_scale is not None or gradient_multipliers is not None:
        raise InvalidArgumentError(
            "optimize_loss: gradient_noise_scale and gradient_multipliers are not "
            "supported; change the gradients in clip_gradients, a function"
        )
    if global_step is None:
        global_step = rd.train.get_or_create_global_step()
    if learning_rate_decay_fn is not None:
        learning_rate = learning_rate_decay_fn(learning_rate, global_step)
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise InvalidArgumentError(
                f"optimize_loss: optimizer is {optimizer!r}; expected one of "
                f"{sorted(OPTIMIZER_CLS_NAMES)}"
            )
        optimizer = OPTIMIZER_CLS_NAMES[optimizer]
    if isinstance(optimizer, type) or not hasattr(optimizer, "compute_gradients"):
        optimizer = optimizer(learning_rate)
    if update_ops is None:
        update_ops = rd.get_collection(GraphKeys.UPDATE_OPS)
    with rd.control_dependencies(update_ops):
        pairs = optimizer.compute_gradients(loss, variables)
        if clip_gradients is not None:
            grads, names = zip(*pairs)  # noqa: B905
            if callable(clip_gradients):
                pairs = clip_gradients(pairs)
            else:
                grads, _ = rd.clip_by_global_norm(grads, clip_gradients)
                pairs = list(zip(grads, names))  # noqa: B905
        counted = global_step if increment_global_step else None
        train_op = optimizer.apply_gradients(pairs, counted, name)
    with rd.control_dependencies([train_op]):
        return rd.identity(loss)

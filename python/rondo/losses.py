"""Losses: a scalar each, added to the collection "losses"."""

from .errors import InvalidArgumentError
from .framework.build import convert_to_tensor
from .framework.graph import GraphKeys, get_collection
from .ops import array as _array
from .ops import math as _math
from .ops import nn as _nn


class Reduction:
    """How the elements of a loss become one."""

    NONE = "none"
    SUM = "weighted_sum"
    MEAN = "weighted_mean"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"


def compute_weighted_loss(
    losses,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """The losses times the weights, which broadcast, as one number."""
    losses = convert_to_tensor(losses)
    if scope is not None:
        with losses.graph.name_scope(scope):
            return compute_weighted_loss(
                losses, weights, None, loss_collection, reduction
            )
    plain = isinstance(weights, (int, float)) and weights == 1
    if plain:
        weighted = losses
    else:
        weights = _math.cast(
            convert_to_tensor(weights, graph=losses.graph), losses.dtype
        )
        weights = _fitting(weights, losses)
        weighted = losses * weights
    if reduction == Reduction.NONE:
        loss = weighted
    elif reduction == Reduction.SUM:
        loss = _math.reduce_sum(weighted)
    elif plain or reduction == Reduction.SUM_OVER_BATCH_SIZE:
        loss = _math.reduce_mean(weighted)
    else:
        spread = _array.zeros_like(losses) + weights
        if reduction == Reduction.MEAN:
            count = _math.reduce_sum(spread)
        else:
            nonzero = _math.not_equal(spread, 0.0)
            count = _math.reduce_sum(_math.cast(nonzero, losses.dtype))
        safe = _array.where(_math.equal(count, 0.0), _array.ones_like(count), count)
        loss = _math.reduce_sum(weighted) / safe
    add_loss(loss, loss_collection)
    return loss


def _fitting(weights, losses):
    """Weights that do not make more losses than there are."""
    ranks = weights.shape.ndims, losses.shape.ndims
    if None in ranks or ranks[0] == 0:
        return weights
    if ranks[0] == ranks[1] + 1 and weights.shape[-1] in (1, None):
        return _array.squeeze(weights, [-1])
    fits = ranks[0] == ranks[1] and all(
        w in (1, None, n) or n is None
        for w, n in zip(weights.shape, losses.shape)  # noqa: B905
    )
    if not fits:
        raise InvalidArgumentError(
            f"the weights have shape {weights.shape}, the losses {losses.shape}; "
            "expected one number, or the same shape with 1 where weights repeat"
        )
    return weights


def add_loss(loss, loss_collection=GraphKeys.LOSSES):
    """Enters a loss among those of get_total_loss."""
    if loss_collection:
        loss.graph.add_to_collection(loss_collection, loss)


def get_losses(scope=None, loss_collection=GraphKeys.LOSSES):
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope=None):
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_total_loss(add_regularization_losses=True, name="total_loss"):
    """The sum of all losses."""
    losses = get_losses()
    if add_regularization_losses:
        losses = losses + get_regularization_losses()
    if not losses:
        raise InvalidArgumentError("get_total_loss: there are no losses")
    return _math.add_n(losses, name)


def _pair(labels, predictions):
    predictions = convert_to_tensor(predictions)
    labels = convert_to_tensor(
        labels,
        None if hasattr(labels, "graph") else predictions.dtype,
        graph=predictions.graph,
    )
    labels = _math.cast(labels, predictions.dtype)
    if not labels.shape.is_compatible_with(predictions.shape):
        raise InvalidArgumentError(
            f"the labels have shape {labels.shape}, the predictions {predictions.shape}"
        )
    return labels, predictions


def mean_squared_error(labels, predictions, weights=1.0, **options):
    """The mean of the squared differences."""
    labels, predictions = _pair(labels, predictions)
    return compute_weighted_loss(
        _math.squared_difference(predictions, labels), weights, **options
    )


def absolute_difference(labels, predictions, weights=1.0, **options):
    """The mean of the absolute differences."""
    labels, predictions = _pair(labels, predictions)
    return compute_weighted_loss(_math.abs(predictions - labels), weights, **options)


def huber_loss(labels, predictions, weights=1.0, delta=1.0, **options):
    """Squared differences up to delta, linear beyond."""
    labels, predictions = _pair(labels, predictions)
    error = _math.abs(predictions - labels)
    inner = _math.minimum(error, delta)
    losses = 0.5 * inner * inner + delta * (error - inner)
    return compute_weighted_loss(losses, weights, **options)


def hinge_loss(labels, logits, weights=1.0, **options):
    """max(0, 1 - logits) with the sign of labels of 0 and 1."""
    labels, logits = _pair(labels, logits)
    signs = 2.0 * labels - 1.0
    return compute_weighted_loss(_nn.relu(1.0 - signs * logits), weights, **options)


def log_loss(labels, predictions, weights=1.0, epsilon=1e-7, **options):
    """The cross-entropy of probabilities."""
    labels, predictions = _pair(labels, predictions)
    losses = -labels * _math.log(predictions + epsilon) - (1.0 - labels) * _math.log(
        1.0 - predictions + epsilon
    )
    return compute_weighted_loss(losses, weights, **options)


def softmax_cross_entropy(
    onehot_labels, logits, weights=1.0, label_smoothing=0, **options
):
    """The cross-entropy of softmax(logits) and distributions."""
    labels, logits = _pair(onehot_labels, logits)
    if label_smoothing:
        classes = labels.shape[-1]
        labels = labels * (1 - label_smoothing) + label_smoothing / classes
    losses = _nn.softmax_cross_entropy_with_logits(
        labels=_array.stop_gradient(labels), logits=logits
    )
    return compute_weighted_loss(losses, weights, **options)


def sparse_softmax_cross_entropy(labels, logits, weights=1.0, **options):
    """The cross-entropy of softmax(logits) and the right classes."""
    losses = _nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return compute_weighted_loss(losses, weights, **options)


def sigmoid_cross_entropy(multi_class_labels, logits, weights=1.0, **options):
    """The cross-entropy of sigmoid(logits), element by element."""
    labels, logits = _pair(multi_class_labels, logits)
    losses = _nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    return compute_weighted_loss(losses, weights, **options)


__all__ = [
    "Reduction",
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "get_losses",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "huber_loss",
    "log_loss",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]

"""Means over many batches, of values and of differences."""

from ..framework.build import convert_to_tensor
from ..ops import array, math
from .sums import Pair, aligned, as_float, divided, spread


def mean(
    values,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean of all values so far."""
    values = as_float(values)
    pair = Pair(name, "mean")
    with pair.scope():
        if weights is None:
            count = math.cast(array.size(values), "float32")
        else:
            weights = spread(weights, values)
            values = values * weights
            count = math.reduce_sum(weights)
        sums = [
            pair.add("total", math.reduce_sum(values)),
            pair.add("count", count),
        ]
        return pair.result(divided, sums, (metrics_collections, updates_collections))


def accuracy(
    labels,
    predictions,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """How many of the predictions, in the type of the labels, are the labels."""
    labels, predictions = aligned(labels, predictions, "accuracy")
    right = as_float(math.equal(math.cast(predictions, labels.dtype), labels))
    return mean(
        right, weights, metrics_collections, updates_collections, name or "accuracy"
    )


def percentage_below(
    values,
    threshold,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """How many of the values are below a threshold."""
    below = as_float(math.less(convert_to_tensor(values), threshold))
    return mean(
        below, weights, metrics_collections, updates_collections,
        name or "percentage_below",
    )  # fmt: skip


def _make_error(which, difference, doc):
    def error(
        labels,
        predictions,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        labels, predictions = aligned(labels, predictions, which)
        return mean(
            difference(as_float(predictions), as_float(labels)), weights,
            metrics_collections, updates_collections, name or which,
        )  # fmt: skip

    error.__name__ = error.__qualname__ = which
    error.__doc__ = doc
    return error


mean_squared_error = _make_error(
    "mean_squared_error",
    math.squared_difference,
    "The mean of the squared differences.",
)
mean_absolute_error = _make_error(
    "mean_absolute_error",
    lambda a, b: math.abs(a - b),
    "The mean of the absolute differences.",
)


def root_mean_squared_error(
    labels,
    predictions,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The root of the mean of the squared differences."""
    pair = Pair(name, "root_mean_squared_error")
    with pair.scope():
        roots = map(math.sqrt, mean_squared_error(labels, predictions, weights))
        return pair.collected(*roots, (metrics_collections, updates_collections))


def mean_relative_error(
    labels,
    predictions,
    normalizer,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean of the absolute differences, each divided by its normalizer."""
    labels, predictions = aligned(labels, predictions, "mean_relative_error")
    normalizer = as_float(normalizer)
    difference = math.abs(as_float(predictions) - as_float(labels))
    zero = math.equal(normalizer, 0.0)
    safe = array.where(zero, array.ones_like(normalizer), normalizer)
    part = array.where(zero, array.zeros_like(difference), difference / safe)
    return mean(
        part, weights, metrics_collections, updates_collections,
        name or "mean_relative_error",
    )  # fmt: skip

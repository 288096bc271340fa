"""Metrics of several classes."""

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..ops import array, math, nn
from .means import mean
from .sums import Pair, as_float, divided


def _one_hot(classes, num_classes):
    flat = math.cast(array.reshape(classes, [-1]), "int64")
    return array.one_hot(flat, num_classes)


def mean_per_class_accuracy(
    labels,
    predictions,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean over the classes of how many of a class are predicted right."""
    pair = Pair(name, "mean_accuracy")
    with pair.scope():
        labels, predictions = (_one_hot(x, num_classes) for x in (labels, predictions))
        if weights is not None:
            labels = labels * array.reshape(as_float(weights), [-1, 1])
        sums = [
            pair.add("count", math.reduce_sum(labels * predictions, 0)),
            pair.add("total", math.reduce_sum(labels, 0)),
        ]
        return pair.result(
            lambda a, b: math.reduce_mean(divided(a, b)),
            sums,
            (metrics_collections, updates_collections),
        )


def mean_iou(
    labels,
    predictions,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """(the mean over the classes of intersection over union, an update)."""
    pair = Pair(name, "mean_iou")
    with pair.scope():
        labels, predictions = (_one_hot(x, num_classes) for x in (labels, predictions))
        weigh = 1.0 if weights is None else array.reshape(as_float(weights), [-1, 1])
        both = math.reduce_sum(labels * predictions * weigh, 0)
        either = math.reduce_sum((labels + predictions) * weigh, 0) - both
        sums = [pair.add("both", both), pair.add("either", either)]

        def value(a, b):
            there = as_float(math.greater(b, 0.0))
            return divided(math.reduce_sum(divided(a, b)), math.reduce_sum(there))

        return pair.result(value, sums, (metrics_collections, updates_collections))


def recall_at_k(
    labels,
    predictions,
    k,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """How often the label is among the k likeliest classes."""
    if class_id is not None:
        raise InvalidArgumentError("recall_at_k: class_id is not supported")
    labels = array.reshape(math.cast(convert_to_tensor(labels), "int64"), [-1])
    hits = nn.in_top_k(as_float(predictions), labels, k)
    return mean(
        hits, weights, metrics_collections, updates_collections,
        name or f"recall_at_{k}",
    )  # fmt: skip

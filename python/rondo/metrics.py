"""Metrics over many batches: (value, update) pairs.

`update` takes a batch in and gives the metric so far; `value` gives it without.
The sums are local variables: run local_variables_initializer first.
"""

import numpy as _np

from .errors import InvalidArgumentError
from .framework.build import convert_to_tensor
from .framework.graph import GraphKeys, get_default_graph
from .framework.variable import Variable
from .ops import array as _array
from .ops import math as _math
from .ops import nn as _nn


def _local(name, shape=(), dtype="float32"):
    keys = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    zero = _array.zeros(list(shape), dtype)
    return Variable(zero, trainable=False, collections=keys, name=name)


def _divided(total, count):
    """0 where there is nothing to divide by."""
    none = _math.equal(count, 0.0)
    safe = _array.where(none, _array.ones_like(count), count)
    return _array.where(none, _array.zeros_like(count), total / safe)


def _float(x):
    return _math.cast(convert_to_tensor(x), "float32")


def _spread(weights, like):
    """The weights in the shape of what they weigh."""
    weights = _float(weights)
    missing = (like.shape.ndims or 0) - (weights.shape.ndims or 0)
    if weights.shape.ndims:
        for _ in range(missing):
            weights = _array.expand_dims(weights, -1)
    return _array.zeros_like(like) + weights


class _Pair:
    """A metric of some sums: `of(sums)` is its value."""

    def __init__(self, name, default):
        self._graph = get_default_graph()
        self._name = name or default

    def scope(self):
        return self._graph.name_scope(self._name)

    def add(self, label, delta):
        """A sum; gives (what it is, what it is with this batch)."""
        delta = _float(delta)
        if not delta.shape.is_fully_defined():
            raise InvalidArgumentError(
                f"{self._name}: the shape of a sum, {delta.shape}, must be known"
            )
        total = _local(label, delta.shape.as_list())
        now = total.assign_add(delta)
        return total, now

    def result(self, function, pairs, collections):
        before = function(*[total for total, _ in pairs])
        after = function(*[now for _, now in pairs])
        metrics, updates = collections
        if metrics:
            self._graph.add_to_collections(metrics, before)
        if updates:
            self._graph.add_to_collections(updates, after)
        return before, after


def mean(
    values,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean of all values so far."""
    values = _float(values)
    pair = _Pair(name, "mean")
    with pair.scope():
        if weights is None:
            count = _math.cast(_array.size(values), "float32")
        else:
            weights = _spread(weights, values)
            values = values * weights
            count = _math.reduce_sum(weights)
        sums = [
            pair.add("total", _math.reduce_sum(values)),
            pair.add("count", count),
        ]
        return pair.result(_divided, sums, (metrics_collections, updates_collections))


def accuracy(
    labels,
    predictions,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """How many of the predictions are the labels."""
    predictions = convert_to_tensor(predictions)
    labels = _math.cast(convert_to_tensor(labels), predictions.dtype)
    ranks = (labels.shape.ndims, predictions.shape.ndims)
    if None not in ranks and ranks[0] == ranks[1] + 1:
        labels = _array.squeeze(labels, -1)
    elif None not in ranks and ranks[1] == ranks[0] + 1:
        predictions = _array.squeeze(predictions, -1)
    right = _float(_math.equal(predictions, labels))
    return mean(
        right, weights, metrics_collections, updates_collections, name or "accuracy"
    )


def percentage_below(values, threshold, weights=None, name=None, **collections):
    """How many of the values are below a threshold."""
    below = _float(_math.less(convert_to_tensor(values), threshold))
    return mean(below, weights, name=name or "percentage_below", **collections)


def mean_squared_error(labels, predictions, weights=None, name=None, **collections):
    """The mean of the squared differences."""
    difference = _math.squared_difference(_float(predictions), _float(labels))
    return mean(difference, weights, name=name or "mean_squared_error", **collections)


def mean_absolute_error(labels, predictions, weights=None, name=None, **collections):
    """The mean of the absolute differences."""
    difference = _math.abs(_float(predictions) - _float(labels))
    return mean(difference, weights, name=name or "mean_absolute_error", **collections)


def root_mean_squared_error(
    labels, predictions, weights=None, name=None, **collections
):
    """The root of the mean of the squared differences."""
    with get_default_graph().name_scope(name or "root_mean_squared_error"):
        value, update = mean_squared_error(labels, predictions, weights, **collections)
        return _math.sqrt(value), _math.sqrt(update)


def mean_relative_error(
    labels, predictions, normalizer, weights=None, name=None, **collections
):
    """The mean of the absolute differences, each divided by its normalizer."""
    normalizer = _float(normalizer)
    difference = _math.abs(_float(predictions) - _float(labels))
    zero = _math.equal(normalizer, 0.0)
    safe = _array.where(zero, _array.ones_like(normalizer), normalizer)
    part = _array.where(zero, _array.zeros_like(difference), difference / safe)
    return mean(part, weights, name=name or "mean_relative_error", **collections)


def _counts(labels, predictions, weights):
    """Weighted numbers of true and false positives and negatives."""
    labels = _math.cast(convert_to_tensor(labels), "bool")
    predictions = _math.cast(convert_to_tensor(predictions), "bool")
    weigh = 1.0 if weights is None else weights

    def count(a, b):
        both = _float(_math.logical_and(a, b))
        return _math.reduce_sum(both * _spread(weigh, both))

    no, wrong = _math.logical_not(labels), _math.logical_not(predictions)
    return {
        "true_positives": count(labels, predictions),
        "false_positives": count(no, predictions),
        "true_negatives": count(no, wrong),
        "false_negatives": count(labels, wrong),
    }


def _counted(names, function, labels, predictions, weights, name, collections):
    pair = _Pair(name, name)
    with pair.scope():
        counts = _counts(labels, predictions, weights)
        sums = [pair.add(n, counts[n]) for n in names]
        return pair.result(function, sums, collections)


def _make_count(which):
    def count(
        labels,
        predictions,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        return _counted(
            [which], _array.identity, labels, predictions, weights,
            name or which, (metrics_collections, updates_collections),
        )  # fmt: skip

    count.__name__ = which
    count.__doc__ = f"The number of {which.replace('_', ' ')}, of bools."
    return count


true_positives = _make_count("true_positives")
false_positives = _make_count("false_positives")
true_negatives = _make_count("true_negatives")
false_negatives = _make_count("false_negatives")


def precision(
    labels,
    predictions,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """How many of what was predicted true is true."""
    return _counted(
        ["true_positives", "false_positives"],
        lambda right, wrong: _divided(right, right + wrong),
        labels, predictions, weights, name or "precision",
        (metrics_collections, updates_collections),
    )  # fmt: skip


def recall(
    labels,
    predictions,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """How many of what is true was predicted true."""
    return _counted(
        ["true_positives", "false_negatives"],
        lambda right, missed: _divided(right, right + missed),
        labels, predictions, weights, name or "recall",
        (metrics_collections, updates_collections),
    )  # fmt: skip


def auc(
    labels,
    predictions,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    curve="ROC",
    name=None,
    summation_method="trapezoidal",
):
    """The area under the curve "ROC" (or "PR") of probabilities, by trapezoids
    between num_thresholds thresholds."""
    if curve not in ("ROC", "PR"):
        raise InvalidArgumentError(f'auc: curve is {curve!r}; expected "ROC" or "PR"')
    inner = (_np.arange(num_thresholds - 2) + 1) / (num_thresholds - 1)
    limits = _np.concatenate([[-1e-7], inner, [1 + 1e-7]]).astype(_np.float32)
    pair = _Pair(name, "auc")
    with pair.scope():
        labels = _math.cast(_array.reshape(labels, [1, -1]), "bool")
        above = _math.greater(
            _array.reshape(_float(predictions), [1, -1]), limits[:, None]
        )
        weigh = 1.0 if weights is None else _array.reshape(_float(weights), [1, -1])

        def count(a, b):
            both = _float(_math.logical_and(a, b)) * weigh
            return _math.reduce_sum(both, 1)

        no, below = _math.logical_not(labels), _math.logical_not(above)
        sums = []
        for label, a, b in (
            ("true_positives", labels, above),
            ("false_positives", no, above),
            ("true_negatives", no, below),
            ("false_negatives", labels, below),
        ):
            delta = count(a, b)
            delta.set_shape([num_thresholds])
            sums.append(pair.add(label, delta))

        def area(tp, fp, tn, fn):
            rate = (tp + 1e-6) / (tp + fn + 1e-6)
            if curve == "ROC":
                x, y = fp / (fp + tn + 1e-6), rate
            else:
                x, y = rate, (tp + 1e-6) / (tp + fp + 1e-6)
            width = x[:-1] - x[1:]
            return _math.reduce_sum(width * (y[:-1] + y[1:]) / 2.0)

        return pair.result(area, sums, (metrics_collections, updates_collections))


def mean_per_class_accuracy(labels, predictions, num_classes, name=None, **collections):
    """The mean over the classes of how many of a class are predicted right."""
    pair = _Pair(name, "mean_accuracy")
    with pair.scope():
        labels = _math.cast(_array.reshape(labels, [-1]), "int64")
        predictions = _math.cast(_array.reshape(predictions, [-1]), "int64")
        of_class = _array.one_hot(labels, num_classes)
        right = _array.expand_dims(_float(_math.equal(labels, predictions)), 1)
        sums = [
            pair.add("count", _math.reduce_sum(of_class * right, 0)),
            pair.add("total", _math.reduce_sum(of_class, 0)),
        ]
        return pair.result(
            lambda a, b: _math.reduce_mean(_divided(a, b)), sums, _keys(collections)
        )


def mean_iou(labels, predictions, num_classes, weights=None, name=None, **collections):
    """(the mean over the classes of intersection over union, an update)."""
    pair = _Pair(name, "mean_iou")
    with pair.scope():
        labels = _array.one_hot(
            _math.cast(_array.reshape(labels, [-1]), "int64"), num_classes
        )
        predictions = _array.one_hot(
            _math.cast(_array.reshape(predictions, [-1]), "int64"), num_classes
        )
        if weights is not None:
            labels = labels * _array.reshape(_float(weights), [-1, 1])
        both = _math.reduce_sum(labels * predictions, 0)
        either = _math.reduce_sum(labels + predictions, 0) - both
        sums = [pair.add("both", both), pair.add("either", either)]

        def value(a, b):
            there = _float(_math.greater(b, 0.0))
            return _divided(_math.reduce_sum(_divided(a, b)), _math.reduce_sum(there))

        return pair.result(value, sums, _keys(collections))


def _keys(collections):
    return (
        collections.get("metrics_collections"),
        collections.get("updates_collections"),
    )


def recall_at_k(labels, predictions, k, name=None, weights=None, **collections):
    """How often the label is among the k likeliest classes."""
    labels = _array.reshape(_math.cast(convert_to_tensor(labels), "int64"), [-1])
    hits = _nn.in_top_k(_float(predictions), labels, k)
    return mean(_float(hits), weights, name=name or f"recall_at_{k}", **collections)


__all__ = [
    "accuracy",
    "auc",
    "false_negatives",
    "false_positives",
    "mean",
    "mean_absolute_error",
    "mean_iou",
    "mean_per_class_accuracy",
    "mean_relative_error",
    "mean_squared_error",
    "percentage_below",
    "precision",
    "recall",
    "recall_at_k",
    "root_mean_squared_error",
    "true_negatives",
    "true_positives",
]

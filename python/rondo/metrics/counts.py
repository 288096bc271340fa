"""Metrics of numbers of true and false positives and negatives."""

import numpy as np

from ..errors import InvalidArgumentError
from ..ops import array, math
from .sums import Pair, aligned, as_float, divided, spread


def _counts(labels, predictions, weights):
    """Weighted numbers of true and false positives and negatives."""
    labels = math.cast(labels, "bool")
    predictions = math.cast(predictions, "bool")
    weigh = 1.0 if weights is None else weights

    def count(a, b):
        both = as_float(math.logical_and(a, b))
        return math.reduce_sum(both * spread(weigh, both))

    no, wrong = math.logical_not(labels), math.logical_not(predictions)
    return {
        "true_positives": count(labels, predictions),
        "false_positives": count(no, predictions),
        "true_negatives": count(no, wrong),
        "false_negatives": count(labels, wrong),
    }


def _make_counted(which, names, function, doc):
    """A metric of numbers of true and false positives and negatives."""

    def counted(
        labels,
        predictions,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        pair = Pair(name, which)
        with pair.scope():
            counts = _counts(*aligned(labels, predictions, which), weights)
            sums = [pair.add(n, counts[n]) for n in names]
            keys = (metrics_collections, updates_collections)
            return pair.result(function, sums, keys)

    counted.__name__ = counted.__qualname__ = which
    counted.__doc__ = doc
    return counted


def _make_count(which):
    doc = f"The number of {which.replace('_', ' ')}, of bools."
    return _make_counted(which, [which], array.identity, doc)


def _share(right, others):
    return divided(right, right + others)


true_positives = _make_count("true_positives")
false_positives = _make_count("false_positives")
true_negatives = _make_count("true_negatives")
false_negatives = _make_count("false_negatives")
precision = _make_counted(
    "precision",
    ["true_positives", "false_positives"],
    _share,
    "How many of what was predicted true is true.",
)
recall = _make_counted(
    "recall",
    ["true_positives", "false_negatives"],
    _share,
    "How many of what is true was predicted true.",
)


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
    if summation_method != "trapezoidal":
        raise InvalidArgumentError(
            f"auc: summation_method {summation_method!r} is not supported; there is "
            '"trapezoidal"'
        )
    inner = (np.arange(num_thresholds - 2) + 1) / (num_thresholds - 1)
    limits = np.concatenate([[-1e-7], inner, [1 + 1e-7]]).astype(np.float32)
    pair = Pair(name, "auc")
    with pair.scope():
        labels = math.cast(array.reshape(labels, [1, -1]), "bool")
        above = math.greater(
            array.reshape(as_float(predictions), [1, -1]), limits[:, None]
        )
        weigh = 1.0 if weights is None else array.reshape(as_float(weights), [1, -1])

        def count(a, b):
            both = as_float(math.logical_and(a, b)) * weigh
            return math.reduce_sum(both, 1)

        no, below = math.logical_not(labels), math.logical_not(above)
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
            return math.reduce_sum(width * (y[:-1] + y[1:]) / 2.0)

        return pair.result(area, sums, (metrics_collections, updates_collections))

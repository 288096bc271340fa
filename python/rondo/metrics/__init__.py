"""Metrics over many batches: (value, update) pairs.

`update` takes a batch in and gives the metric so far; `value` gives it without.
The sums are local variables: run local_variables_initializer first.
"""

from .classes import mean_iou, mean_per_class_accuracy, recall_at_k
from .counts import (
    auc,
    false_negatives,
    false_positives,
    precision,
    recall,
    true_negatives,
    true_positives,
)
from .means import (
    accuracy,
    mean,
    mean_absolute_error,
    mean_relative_error,
    mean_squared_error,
    percentage_below,
    root_mean_squared_error,
)

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

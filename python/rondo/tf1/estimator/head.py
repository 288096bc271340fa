"""Heads: from logits to losses, predictions and metrics."""

import rondo as rd

from ... import metrics
from ...errors import InvalidArgumentError
from .spec import EstimatorSpec, ModeKeys


class ClassificationHead:
    """Classes, by a softmax; two of them by a sigmoid."""

    def __init__(self, n_classes=2, weight_column=None, label_vocabulary=None):
        if label_vocabulary is not None:
            raise InvalidArgumentError(
                "label_vocabulary is not supported: give labels as numbers"
            )
        if n_classes < 2:
            raise InvalidArgumentError(f"n_classes is {n_classes}; expected 2 or more")
        self._classes = n_classes
        self._weight_column = weight_column

    @property
    def logits_dimension(self):
        return 1 if self._classes == 2 else self._classes

    def create_estimator_spec(self, features, mode, logits, labels, train_op_fn):
        if self._classes == 2:
            logistic = rd.sigmoid(logits)
            probabilities = rd.concat([1.0 - logistic, logistic], 1)
        else:
            logistic = None
            probabilities = rd.nn.softmax(logits)
        ids = rd.argmax(probabilities, 1)
        predictions = {
            "logits": logits,
            "probabilities": probabilities,
            "class_ids": rd.expand_dims(ids, 1),
            "classes": rd.expand_dims(ids, 1),
        }
        if logistic is not None:
            predictions["logistic"] = logistic
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions)
        labels = rd.reshape(rd.cast(labels, "int64"), [-1])
        if self._classes == 2:
            losses = rd.nn.sigmoid_cross_entropy_with_logits(
                labels=rd.expand_dims(rd.cast(labels, "float32"), 1), logits=logits
            )
            losses = rd.squeeze(losses, [1])
        else:
            losses = rd.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        weights = _weights(features, self._weight_column)
        loss = _total(losses, weights)
        if mode == ModeKeys.TRAIN:
            return EstimatorSpec(mode, predictions, loss, train_op_fn(loss))
        found = {
            "accuracy": metrics.accuracy(labels, ids, weights),
            "average_loss": metrics.mean(losses, weights, name="average_loss"),
        }
        if self._classes == 2:
            truth = rd.cast(labels, "bool")
            found["auc"] = metrics.auc(truth, rd.reshape(logistic, [-1]), weights)
            said = rd.cast(ids, "bool")
            found["precision"] = metrics.precision(truth, said, weights)
            found["recall"] = metrics.recall(truth, said, weights)
        return EstimatorSpec(mode, predictions, loss, eval_metric_ops=found)


class RegressionHead:
    """Numbers, by squared differences."""

    def __init__(self, label_dimension=1, weight_column=None):
        self.logits_dimension = label_dimension
        self._weight_column = weight_column

    def create_estimator_spec(self, features, mode, logits, labels, train_op_fn):
        predictions = {"predictions": logits}
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions)
        labels = rd.reshape(rd.cast(labels, "float32"), [-1, self.logits_dimension])
        losses = rd.squared_difference(logits, labels)
        weights = _weights(features, self._weight_column)
        loss = _total(rd.reduce_sum(losses, 1), weights)
        if mode == ModeKeys.TRAIN:
            return EstimatorSpec(mode, predictions, loss, train_op_fn(loss))
        found = {
            "average_loss": metrics.mean(losses, weights, name="average_loss"),
            "prediction/mean": metrics.mean(logits, weights, name="prediction_mean"),
            "label/mean": metrics.mean(labels, weights, name="label_mean"),
        }
        return EstimatorSpec(mode, predictions, loss, eval_metric_ops=found)


def _weights(features, column):
    if column is None:
        return None
    key = getattr(column, "key", column)
    return rd.reshape(rd.cast(features[key], "float32"), [-1])


def _total(losses, weights):
    """As the canned estimators of TensorFlow 1 have it: the batch's sum."""
    return rd.reduce_sum(losses if weights is None else losses * weights)


__all__ = ["ClassificationHead", "RegressionHead"]

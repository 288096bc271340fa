"""Estimators that are ready: linear models, networks, and both together."""

import rondo as rd

from ... import layers, train
from ...errors import InvalidArgumentError
from ...framework.variable_scope import variable_scope
from ..feature_column import input_layer, linear_model
from .estimator import Estimator
from .head import ClassificationHead, RegressionHead
from .spec import ModeKeys

_OPTIMIZERS = {
    "Adagrad": train.AdagradOptimizer,
    "Adam": train.AdamOptimizer,
    "Ftrl": train.FtrlOptimizer,
    "RMSProp": train.RMSPropOptimizer,
    "SGD": train.GradientDescentOptimizer,
}


def _optimizer(given, learning_rate):
    if isinstance(given, str):
        if given not in _OPTIMIZERS:
            raise InvalidArgumentError(
                f"optimizer is {given!r}; expected one of {sorted(_OPTIMIZERS)}"
            )
        return _OPTIMIZERS[given](learning_rate)
    return given() if callable(given) else given


def _linear_rate(columns):
    """TensorFlow's default for linear models."""
    return min(0.2, 1.0 / max(1, len(columns)) ** 0.5)


def _listed(columns):
    return list(columns) if isinstance(columns, (list, tuple, set)) else [columns]


def _network(features, columns, hidden_units, units, activation_fn, dropout, mode,
             batch_norm):  # fmt: skip
    training = mode == ModeKeys.TRAIN
    with variable_scope("dnn"):
        x = input_layer(features, columns)
        for i, size in enumerate(hidden_units):
            x = layers.dense(x, size, activation_fn, name=f"hiddenlayer_{i}")
            if dropout:
                x = layers.dropout(x, dropout, training=training)
            if batch_norm:
                x = layers.batch_normalization(x, training=training)
        return layers.dense(x, units, name="logits")


def _train_op(optimizer, variables=None):
    def make(loss):
        updates = rd.get_collection(rd.GraphKeys.UPDATE_OPS)
        with rd.control_dependencies(updates):
            return optimizer.minimize(
                loss, global_step=train.get_global_step(), var_list=variables
            )

    return make


def _refuse(**options):
    for name, value in options.items():
        if value is not None:
            raise InvalidArgumentError(f"{name} is not supported by estimators")


class _Linear(Estimator):
    def _start(self, head, feature_columns, model_dir, optimizer, config):
        columns = _listed(feature_columns)

        def model_fn(features, labels, mode):
            with variable_scope("linear"):
                logits = linear_model(features, columns, head.logits_dimension)
            chosen = _optimizer(optimizer, _linear_rate(columns))
            return head.create_estimator_spec(
                features, mode, logits, labels, _train_op(chosen)
            )

        super().__init__(model_fn, model_dir, config)


class LinearClassifier(_Linear):
    """Classes, by a product for each feature."""

    def __init__(
        self, feature_columns, model_dir=None, n_classes=2, weight_column=None,
        label_vocabulary=None, optimizer="Ftrl", config=None, partitioner=None,
    ):  # fmt: skip
        head = ClassificationHead(n_classes, weight_column, label_vocabulary)
        self._start(head, feature_columns, model_dir, optimizer, config)


class LinearRegressor(_Linear):
    """Numbers, by a product for each feature."""

    def __init__(
        self, feature_columns, model_dir=None, label_dimension=1, weight_column=None,
        optimizer="Ftrl", config=None, partitioner=None,
    ):  # fmt: skip
        head = RegressionHead(label_dimension, weight_column)
        self._start(head, feature_columns, model_dir, optimizer, config)


class _Network(Estimator):
    def _start(
        self, head, hidden_units, feature_columns, model_dir, optimizer,
        activation_fn, dropout, config, batch_norm,
    ):  # fmt: skip
        columns = _listed(feature_columns)

        def model_fn(features, labels, mode):
            logits = _network(
                features, columns, hidden_units, head.logits_dimension, activation_fn,
                dropout, mode, batch_norm,
            )  # fmt: skip
            chosen = _optimizer(optimizer, 0.05)
            return head.create_estimator_spec(
                features, mode, logits, labels, _train_op(chosen)
            )

        super().__init__(model_fn, model_dir, config)


class DNNClassifier(_Network):
    """Classes, by a network of dense layers."""

    def __init__(
        self, hidden_units, feature_columns, model_dir=None, n_classes=2,
        weight_column=None, label_vocabulary=None, optimizer="Adagrad",
        activation_fn=rd.nn.relu, dropout=None, input_layer_partitioner=None,
        config=None, warm_start_from=None, loss_reduction=None, batch_norm=False,
    ):  # fmt: skip
        _refuse(warm_start_from=warm_start_from, loss_reduction=loss_reduction)
        head = ClassificationHead(n_classes, weight_column, label_vocabulary)
        self._start(
            head, hidden_units, feature_columns, model_dir, optimizer, activation_fn,
            dropout, config, batch_norm,
        )  # fmt: skip


class DNNRegressor(_Network):
    """Numbers, by a network of dense layers."""

    def __init__(
        self, hidden_units, feature_columns, model_dir=None, label_dimension=1,
        weight_column=None, optimizer="Adagrad", activation_fn=rd.nn.relu,
        dropout=None, input_layer_partitioner=None, config=None,
        warm_start_from=None, loss_reduction=None, batch_norm=False,
    ):  # fmt: skip
        _refuse(warm_start_from=warm_start_from, loss_reduction=loss_reduction)
        head = RegressionHead(label_dimension, weight_column)
        self._start(
            head, hidden_units, feature_columns, model_dir, optimizer, activation_fn,
            dropout, config, batch_norm,
        )  # fmt: skip


class DNNLinearCombinedClassifier(Estimator):
    """Classes, by a network and a linear model, added: wide and deep."""

    def __init__(
        self, model_dir=None, linear_feature_columns=None, linear_optimizer="Ftrl",
        dnn_feature_columns=None, dnn_optimizer="Adagrad", dnn_hidden_units=None,
        dnn_activation_fn=rd.nn.relu, dnn_dropout=None, n_classes=2,
        weight_column=None, label_vocabulary=None, config=None,
    ):  # fmt: skip
        head = ClassificationHead(n_classes, weight_column, label_vocabulary)
        wide = _listed(linear_feature_columns or [])
        deep = _listed(dnn_feature_columns or [])
        if not wide or not deep or not dnn_hidden_units:
            raise InvalidArgumentError(
                "DNNLinearCombinedClassifier: it needs linear_feature_columns, "
                "dnn_feature_columns and dnn_hidden_units"
            )

        def model_fn(features, labels, mode):
            units = head.logits_dimension
            with variable_scope("linear") as scope:
                logits = linear_model(features, wide, units)
            logits = logits + _network(
                features, deep, dnn_hidden_units, units, dnn_activation_fn,
                dnn_dropout, mode, False,
            )  # fmt: skip

            def train_op(loss):
                first = _optimizer(dnn_optimizer, 0.001)
                second = _optimizer(linear_optimizer, _linear_rate(wide))
                return rd.group(
                    _train_op(first, rd.trainable_variables("dnn/"))(loss),
                    second.minimize(loss, var_list=scope.trainable_variables()),
                )

            return head.create_estimator_spec(features, mode, logits, labels, train_op)

        super().__init__(model_fn, model_dir, config)

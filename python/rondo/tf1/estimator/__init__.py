"""tf.estimator: models as functions, trained and evaluated from folders."""

from .._missing import getattr_of
from . import export, inputs
from .canned import (
    DNNClassifier,
    DNNLinearCombinedClassifier,
    DNNRegressor,
    LinearClassifier,
    LinearRegressor,
)
from .estimator import Estimator
from .run_config import RunConfig
from .spec import EstimatorSpec, ModeKeys
from .train_and_evaluate import EvalSpec, TrainSpec, train_and_evaluate

__getattr__ = getattr_of("tf.estimator")

__all__ = [
    "DNNClassifier",
    "DNNLinearCombinedClassifier",
    "DNNRegressor",
    "Estimator",
    "EstimatorSpec",
    "EvalSpec",
    "LinearClassifier",
    "LinearRegressor",
    "ModeKeys",
    "RunConfig",
    "TrainSpec",
    "export",
    "inputs",
    "train_and_evaluate",
]

"""tf.estimator.export: what a model gives, by kind."""

from .._missing import getattr_of

__getattr__ = getattr_of("tf.estimator.export")


class ExportOutput:
    """The base."""


class PredictOutput(ExportOutput):
    def __init__(self, outputs):
        self.outputs = outputs


class ClassificationOutput(ExportOutput):
    def __init__(self, scores=None, classes=None):
        self.scores = scores
        self.classes = classes


class RegressionOutput(ExportOutput):
    def __init__(self, value):
        self.value = value

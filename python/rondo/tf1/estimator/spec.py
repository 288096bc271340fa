"""EstimatorSpec: what a model function gives."""

from ...errors import InvalidArgumentError


class ModeKeys:
    """What a model is made for."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"
    INFER = "infer"


class EstimatorSpec:
    """The tensors and operations of a model in a mode."""

    def __init__(
        self,
        mode,
        predictions=None,
        loss=None,
        train_op=None,
        eval_metric_ops=None,
        export_outputs=None,
        training_chief_hooks=None,
        training_hooks=None,
        scaffold=None,
        evaluation_hooks=None,
        prediction_hooks=None,
    ):
        needed = {
            ModeKeys.TRAIN: [("loss", loss), ("train_op", train_op)],
            ModeKeys.EVAL: [("loss", loss)],
            ModeKeys.PREDICT: [("predictions", predictions)],
        }
        if mode not in needed:
            raise InvalidArgumentError(f"EstimatorSpec: there is no mode {mode!r}")
        for name, value in needed[mode]:
            if value is None:
                raise InvalidArgumentError(f'EstimatorSpec: mode "{mode}" needs {name}')
        self.mode = mode
        self.predictions = predictions
        self.loss = loss
        self.train_op = train_op
        self.eval_metric_ops = dict(eval_metric_ops or {})
        self.export_outputs = export_outputs
        self.training_chief_hooks = list(training_chief_hooks or ())
        self.training_hooks = list(training_hooks or ())
        self.scaffold = scaffold
        self.evaluation_hooks = list(evaluation_hooks or ())
        self.prediction_hooks = list(prediction_hooks or ())

    def _replace(self, **fields):
        given = dict(self.__dict__)
        given.update(fields)
        return EstimatorSpec(**given)

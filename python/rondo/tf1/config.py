"""ConfigProto and its like: settings of sessions, as TensorFlow 1 has them.

What concerns GPUs or graph rewriting is taken and kept, so that programs can set
it; what a session of Rondo knows, it uses.
"""

import inspect

from ..framework import session as _session


class Message:
    """Fields that are whatever the program sets; unknown ones begin as messages of
    their own, as those of protocol buffers do."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = Message()
        self.__dict__[name] = value
        return value

    def CopyFrom(self, other):
        self.__dict__.clear()
        self.__dict__.update(other.__dict__)

    def MergeFrom(self, other):
        self.__dict__.update(other.__dict__)

    def __bool__(self):
        return bool(self.__dict__)

    def __repr__(self):
        fields = ", ".join(f"{k}={v!r}" for k, v in self.__dict__.items())
        return f"{type(self).__name__}({fields})"


class GPUOptions(Message):
    """Has no meaning without GPUs."""


class OptimizerOptions(Message):
    OFF, L1, L0 = "OFF", 1, -1
    ON_1, ON_2, DEFAULT = 1, 2, 0


class GraphOptions(Message):
    pass


class ConfigProto(_session.ConfigProto):
    """Settings of a session."""

    def __init__(self, **fields):
        known = set(inspect.signature(_session.ConfigProto.__init__).parameters)
        super().__init__(**{k: v for k, v in fields.items() if k in known})
        self.gpu_options = GPUOptions()
        self.graph_options = GraphOptions()
        for name, value in fields.items():
            if value is not None:
                setattr(self, name, value)

    def CopyFrom(self, other):
        self.__dict__.update(other.__dict__)


class RunOptions(_session.RunOptions):
    """What Session.run takes as `options`."""

    SOFTWARE_TRACE, HARDWARE_TRACE = 1, 2

    def __init__(self, trace_level=0, timeout_in_ms=0, **others):
        super().__init__(trace_level, timeout_in_ms)


class RunMetadata(_session.RunMetadata):
    """What a traced run fills; see tensorflow.python.client.timeline."""

    @property
    def step_stats(self):
        return self.trace


class Timeline:
    """timeline.Timeline(run_metadata.step_stats): the times of a traced run."""

    def __init__(self, step_stats, graph=None):
        self._trace = step_stats or "{}"

    def generate_chrome_trace_format(self, show_dataflow=True, show_memory=False):
        """JSON that chrome://tracing and Perfetto read."""
        return self._trace

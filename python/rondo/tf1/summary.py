"""tf.summary."""

from .. import summary as _summary
from ..framework.graph import Graph, get_default_graph
from ..summary import *  # noqa: F403
from ..summary import FileWriter as _FileWriter
from ..summary import Summary  # noqa: F401
from ._missing import getattr_of

__getattr__ = getattr_of("tf.summary")


class FileWriter(_FileWriter):
    """Writes events for TensorBoard."""

    def __init__(
        self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None,
        filename_suffix=None, session=None,
    ):  # fmt: skip
        if graph is not None and not isinstance(graph, Graph):
            # sess.graph_def, as programs of TensorFlow 0.x pass it.
            graph = get_default_graph()
        if graph is None and graph_def is not None:
            graph = get_default_graph()
        super().__init__(logdir, graph, max_queue, flush_secs, None, filename_suffix)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        """Has no meaning here: run_metadata.trace is what chrome://tracing reads."""

    def add_session_log(self, session_log, global_step=None):
        """Has no meaning here."""


merge_all = _summary.merge_all
SummaryWriter = FileWriter

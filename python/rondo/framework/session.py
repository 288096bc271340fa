"""Session: runs parts of a graph with feeds and fetches."""

import collections
import contextlib
import threading

from .. import _core
from ..errors import InvalidArgumentError
from .build import to_array
from .graph import Operation, get_default_graph, remove_last
from .tensor import IndexedSlices, Tensor

# Of their outputs a run gives bytes.
_GIVES_BYTES = frozenset(
    [
        "HistogramSummary",
        "ImageSummary",
        "MergeSummary",
        "ScalarSummary",
        "TextSummary",
    ]
)


class ConfigProto:
    """What a session runs on.

    Threads: between independent operations of a device, and within one
    operation; 0: one between operations, and within one as many as there are
    cores, which the devices of a run share.

    `device_count={"CPU": 2}` gives the session the devices /cpu:0 and /cpu:1.
    An operation that asks for a device that is not there is an error, or with
    `allow_soft_placement` runs elsewhere. `log_device_placement` writes to
    standard error what runs where. With `placement="cost"` what asks for no device
    goes where a run ends first, by a simulation and by measured times, instead of
    to where its inputs are ("constraints").

    On a cluster, `device_filters=["/job:ps", "/job:worker/task:0"]` leaves out
    the tasks that match none of them, which then need not be up. Threads and
    devices there are those of each Server's own config.

    A run that takes longer than `operation_timeout_in_ms` fails, unless it has a
    time-out of its own; 0: it may take as long as it does.
    """

    def __init__(
        self,
        inter_op_parallelism_threads=0,
        intra_op_parallelism_threads=0,
        *,
        device_count=None,
        allow_soft_placement=False,
        log_device_placement=False,
        device_filters=None,
        placement="constraints",
        operation_timeout_in_ms=0,
    ):
        self.inter_op_parallelism_threads = inter_op_parallelism_threads
        self.intra_op_parallelism_threads = intra_op_parallelism_threads
        self.device_count = dict(device_count or {})
        self.allow_soft_placement = allow_soft_placement
        self.log_device_placement = log_device_placement
        self.device_filters = list(device_filters or [])
        self.placement = placement
        self.operation_timeout_in_ms = operation_timeout_in_ms

    def _devices(self):
        devices = {}
        for kind, count in self.device_count.items():
            if count < 0:
                raise InvalidArgumentError(f"device_count: {count} of {kind}")
            # One says "no GPU" on a machine that has none.
            if count > 0:
                devices[kind.lower()] = count
        return devices


class DeviceAttributes:
    """A device of Session.list_devices()."""

    def __init__(self, name):
        self.name = name
        self.device_type = name.rsplit("/", 1)[1].split(":")[0].upper()

    def __repr__(self):
        return f"<{self.device_type} device {self.name}>"


class RunOptions:
    """What Session.run takes as `options`."""

    NO_TRACE = 0
    FULL_TRACE = 3

    def __init__(self, trace_level=NO_TRACE, timeout_in_ms=0):
        self.trace_level = trace_level
        self.timeout_in_ms = timeout_in_ms


class RunMetadata:
    """What a run with trace_level FULL_TRACE fills: `trace`, JSON that
    chrome://tracing and Perfetto read."""

    def __init__(self):
        self.trace = None


class _Defaults(threading.local):
    def __init__(self):
        self.sessions = []


_defaults = _Defaults()


def get_default_session():
    """The innermost session that was entered; None when there is none."""
    return _defaults.sessions[-1] if _defaults.sessions else None


def session_for(session):
    session = session or get_default_session()
    if session is None:
        raise InvalidArgumentError(
            "there is no default session: pass one, or use `with rondo.Session():`"
        )
    return session


class Session:
    """Runs parts of a graph, and keeps its variables between runs.

    With a `target`, "grpc://host:port" of a rondo.train.Server, it runs on the
    tasks of that server's cluster, and the variables are theirs.

    Several threads may run at once. Ctrl-C ends a run.
    """

    def __init__(self, target="", graph=None, config=None):
        config = config or ConfigProto()
        self.graph = graph or get_default_graph()
        self._timeout = config.operation_timeout_in_ms / 1000 or None
        if target:
            self._session = _core.open_session(
                self.graph._core,
                target,
                device_filters=config.device_filters,
                allow_soft_placement=config.allow_soft_placement,
                log_device_placement=config.log_device_placement,
                placement=config.placement,
            )
        else:
            self._session = _core.Session(
                self.graph._core,
                inter_op_threads=config.inter_op_parallelism_threads,
                intra_op_threads=config.intra_op_parallelism_threads,
                devices=config._devices(),
                allow_soft_placement=config.allow_soft_placement,
                log_device_placement=config.log_device_placement,
                placement=config.placement,
            )
        self._entered = []

    def run(
        self,
        fetches,
        feed_dict=None,
        options=None,
        run_metadata=None,
        *,
        timeout=None,
        trace=None,
    ):
        """The values of `fetches`: a tensor, a variable, an operation (None), a
        name of one, or any nesting of them in lists, tuples and dicts, which the
        result has as well. Of a summary it is bytes, of all else an array or a
        NumPy scalar.

        `feed_dict` gives tensors their values for this run. After `timeout`
        seconds the run fails. With `trace`, a path, the times of all operations
        are written there as chrome://tracing and Perfetto read them.
        """
        core = self._session  # which another thread may close meanwhile
        if core is None:
            raise InvalidArgumentError("run: this session is closed")
        values, nodes = [], []
        result_of = self._collect(fetches, values, nodes, {})
        feeds = self._feeds(feed_dict) if feed_dict else []
        if options is not None:
            if not isinstance(options, RunOptions):
                raise InvalidArgumentError(
                    f"run: options is {options!r}, expected rondo.RunOptions"
                )
            if options.timeout_in_ms:
                timeout = options.timeout_in_ms / 1000
        tracing = trace is not None or (
            options is not None and options.trace_level != RunOptions.NO_TRACE
        )
        if timeout is None:
            timeout = self._timeout
        arrays, json = core.run(values, feeds, nodes, timeout, tracing)
        if run_metadata is not None:
            run_metadata.trace = json
        if trace is not None:
            with open(trace, "w") as file:
                file.write(json)
        return result_of(arrays)

    def list_devices(self):
        """The devices that operations can ask for, with `name` and
        `device_type`."""
        core = self._session
        if core is None:
            raise InvalidArgumentError("list_devices: this session is closed")
        return [DeviceAttributes(name) for name in core.devices]

    def explain_placement(self, fetches, feed_dict=None):
        """On which devices the operations of run(fetches, feed_dict) run, and why,
        as a table. Nothing runs. Of feed_dict only the keys count: it may be a
        list of tensors."""
        core = self._session
        if core is None:
            raise InvalidArgumentError("explain_placement: this session is closed")
        values, nodes = [], []
        self._collect(fetches, values, nodes, {})
        feeds = []
        for key in feed_dict or ():
            tensor = self.graph.as_graph_element(key)
            if not isinstance(tensor, Tensor):
                raise InvalidArgumentError(f"feed_dict: {key!r} is not a tensor")
            feeds.append(tensor._value)
        return core.explain_placement(values, feeds, nodes)

    @staticmethod
    def reset(target, containers=None, config=None):
        """Clears containers of variables, all of them unless some are named, on
        all tasks of the cluster that the server at `target` belongs to."""
        _core.reset_cluster(target, list(containers or []))

    def make_callable(self, fetches, feed_list=None):
        """A function of the values of feed_list that runs fetches."""
        feed_list = list(feed_list or ())

        def call(*args):
            if len(args) != len(feed_list):
                raise InvalidArgumentError(
                    f"expected {len(feed_list)} values, got {len(args)}"
                )
            return self.run(fetches, dict(zip(feed_list, args)))  # noqa: B905

        return call

    def _collect(self, what, values, nodes, places):
        """Adds what a fetch needs; gives a function from arrays to its result."""
        if isinstance(what, dict):
            parts = {
                k: self._collect(v, values, nodes, places) for k, v in what.items()
            }
            return lambda arrays: _dict_like(
                what, ((k, f(arrays)) for k, f in parts.items())
            )
        if isinstance(what, (list, tuple)):
            items = [self._collect(x, values, nodes, places) for x in what]
            if hasattr(what, "_fields"):
                return lambda arrays: type(what)(*(f(arrays) for f in items))
            return lambda arrays: type(what)(f(arrays) for f in items)
        if what is None:
            raise InvalidArgumentError(
                "run: a fetch is None, as is the gradient of what the loss does not "
                "depend on"
            )
        if isinstance(what, IndexedSlices):
            parts = [what.values, what.indices, what.dense_shape]
            got = [
                None if x is None else self._collect(x, values, nodes, places)
                for x in parts
            ]
            return lambda arrays: IndexedSlicesValue(*(f and f(arrays) for f in got))
        if hasattr(what, "_fetched"):
            # Something that a run gives tensors for and that is made of them.
            tensors, made_of = what._fetched()
            got = self._collect(list(tensors), values, nodes, places)
            return lambda arrays: made_of(got(arrays))
        element = self.graph.as_graph_element(what)
        if isinstance(element, Operation):
            nodes.append(element._node)
            return lambda arrays: None
        at = places.setdefault(element._value, len(values))
        if at == len(values):
            values.append(element._value)
        if element._value.op in _GIVES_BYTES or element._value in self.graph._texts:
            return lambda arrays: arrays[at].tobytes()

        def result(arrays):
            array = arrays[at]
            return array[()] if array.ndim == 0 else array

        return result

    def _feeds(self, feed_dict):
        if not isinstance(feed_dict, dict):
            raise InvalidArgumentError(
                f"feed_dict: expected a dict of tensors to arrays, got {feed_dict!r}"
            )
        feeds = []
        for key, value in feed_dict.items():
            tensor = self.graph.as_graph_element(key)
            if not isinstance(tensor, Tensor):
                raise InvalidArgumentError(f"feed_dict: {key!r} is not a tensor")
            if isinstance(value, Tensor) or hasattr(value, "_as_tensor"):
                raise InvalidArgumentError(
                    f'feed_dict: "{tensor.name}" was fed {value!r}; feed an array'
                )
            try:
                array = to_array(value, tensor.dtype)
            except (InvalidArgumentError, ValueError) as e:
                raise InvalidArgumentError(
                    f"feed_dict: {tensor.op._node.describe()}: {e}"
                ) from None
            feeds.append((tensor._value, array))
        return feeds

    @property
    def graph_def(self):
        """The graph as bytes: graph.as_graph_def()."""
        return self.graph.as_graph_def()

    def close(self):
        """Ends the runs of other threads and lets the variables go; nothing can be
        run after."""
        if self._session is not None:
            self._session.close()
        self._session = None

    @contextlib.contextmanager
    def as_default(self):
        """with session.as_default(): x.eval() and op.run() use this session."""
        _defaults.sessions.append(self)
        try:
            yield self
        finally:
            remove_last(_defaults.sessions, self)

    def __enter__(self):
        scopes = contextlib.ExitStack()
        scopes.enter_context(self.graph.as_default())
        scopes.enter_context(self.as_default())
        self._entered.append(scopes)
        return self

    def __exit__(self, kind, value, traceback):
        self._entered.pop().close()
        self.close()


class InteractiveSession(Session):
    """A session that is the default one from the start, until it is closed."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._scopes = contextlib.ExitStack()
        if graph is not None:
            self._scopes.enter_context(graph.as_default())
        self._scopes.enter_context(self.as_default())

    def close(self):
        super().close()
        self._scopes.close()


def _dict_like(what, items):
    """A dict of these items, of the same kind where that can be made of items."""
    if isinstance(what, collections.defaultdict):
        return collections.defaultdict(what.default_factory, items)
    return type(what)(items)


class IndexedSlicesValue:
    """What a run gives for IndexedSlices: arrays."""

    def __init__(self, values, indices, dense_shape):
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

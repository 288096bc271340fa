from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict

from numpy.typing import DTypeLike, NDArray

from .store import Store

_Array = NDArray[Any]
_Arrays = _Array | Sequence[_Array]
_Op = (
    Literal["sum", "avg", "prod", "min", "max", "band", "bor", "bxor"]
    | Callable[[_Array, _Array], object]
)
_Shape = int | Sequence[int]

class _Traffic(TypedDict):
    bytes_sent: int
    bytes_received: int
    messages_sent: int

def empty(shape: _Shape, dtype: DTypeLike = "float32") -> _Array: ...
def _close_all() -> None: ...

class NativeStore:
    def set(self, key: str, value: bytes) -> None: ...
    def get(self, key: str, timeout: float = 120.0) -> bytes: ...
    def add(self, key: str, amount: int) -> int: ...
    def remove(self, key: str) -> None: ...
    @property
    def name(self) -> str: ...

class MemoryStore(NativeStore):
    def __init__(self) -> None: ...

class FileStore(NativeStore):
    def __init__(self, folder: str) -> None: ...

class TcpStore(NativeStore):
    def __init__(
        self, url: str, rank: int, *, token: str = "", timeout: float = 120.0
    ) -> None: ...

class Work:
    def wait(self, timeout: float | None = None) -> Any: ...
    def test(self) -> bool: ...
    def cancel(self) -> None: ...
    @property
    def error(self) -> Exception | None: ...

class Communicator:
    @staticmethod
    def world(
        *,
        connect_timeout: float | None = None,
        timeout: float | None = None,
        total_timeout: float | None = None,
        transport: str | None = None,
        algorithm: str | None = None,
        interface: str | None = None,
        port_range: str | None = None,
        token: str | None = None,
        tcp_streams: int | None = None,
        remote_memory: bool | None = None,
        tuning_file: str | None = None,
        name: str | None = None,
    ) -> Communicator: ...
    @staticmethod
    def connect(
        store: Store,
        rank: int,
        size: int,
        *,
        connect_timeout: float | None = None,
        timeout: float | None = None,
        total_timeout: float | None = None,
        transport: str | None = None,
        algorithm: str | None = None,
        interface: str | None = None,
        port_range: str | None = None,
        token: str | None = None,
        tcp_streams: int | None = None,
        remote_memory: bool | None = None,
        tuning_file: str | None = None,
        name: str | None = None,
    ) -> Communicator: ...
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def split(self, color: int, key: int = 0) -> Communicator | None: ...
    def transport_to(self, peer: int) -> str: ...
    def algorithm_for(self, count: int, dtype: str = "f32") -> str: ...
    def traffic(self) -> _Traffic: ...
    def abort(self, reason: str) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Communicator: ...
    def __exit__(self, *args: object) -> None: ...
    def allreduce(
        self,
        x: _Arrays,
        op: _Op = "sum",
        out: _Array | None = None,
        algorithm: str = "auto",
        timeout: float | None = None,
    ) -> _Arrays: ...
    def allreduce_async(
        self,
        x: _Arrays,
        op: _Op = "sum",
        out: _Array | None = None,
        algorithm: str = "auto",
        timeout: float | None = None,
    ) -> Work: ...
    def reduce(
        self,
        x: _Array,
        op: _Op = "sum",
        root: int = 0,
        out: _Array | None = None,
        timeout: float | None = None,
    ) -> _Array | None: ...
    def reduce_async(
        self,
        x: _Array,
        op: _Op = "sum",
        root: int = 0,
        out: _Array | None = None,
        timeout: float | None = None,
    ) -> Work: ...
    def broadcast(
        self, x: _Array, root: int = 0, timeout: float | None = None
    ) -> _Array: ...
    def broadcast_async(
        self, x: _Array, root: int = 0, timeout: float | None = None
    ) -> Work: ...
    def allgather(
        self, x: _Array, out: _Array | None = None, timeout: float | None = None
    ) -> _Array: ...
    def allgather_async(
        self, x: _Array, out: _Array | None = None, timeout: float | None = None
    ) -> Work: ...
    def allgatherv(
        self,
        x: _Array,
        out: _Array,
        counts: Sequence[int],
        timeout: float | None = None,
    ) -> _Array: ...
    def allgatherv_async(
        self,
        x: _Array,
        out: _Array,
        counts: Sequence[int],
        timeout: float | None = None,
    ) -> Work: ...
    def reduce_scatter(
        self, x: _Array, out: _Array, op: _Op = "sum", timeout: float | None = None
    ) -> _Array: ...
    def reduce_scatter_async(
        self, x: _Array, out: _Array, op: _Op = "sum", timeout: float | None = None
    ) -> Work: ...
    def gather(
        self,
        x: _Array,
        out: _Array | None = None,
        root: int = 0,
        timeout: float | None = None,
    ) -> _Array | None: ...
    def gather_async(
        self,
        x: _Array,
        out: _Array | None = None,
        root: int = 0,
        timeout: float | None = None,
    ) -> Work: ...
    def scatter(
        self, x: _Array | None, out: _Array, root: int = 0, timeout: float | None = None
    ) -> _Array: ...
    def scatter_async(
        self, x: _Array | None, out: _Array, root: int = 0, timeout: float | None = None
    ) -> Work: ...
    def all_to_all(
        self, x: _Array, out: _Array | None = None, timeout: float | None = None
    ) -> _Array: ...
    def all_to_all_async(
        self, x: _Array, out: _Array | None = None, timeout: float | None = None
    ) -> Work: ...
    def all_to_allv(
        self,
        x: _Array,
        send_counts: Sequence[int],
        out: _Array,
        recv_counts: Sequence[int],
        timeout: float | None = None,
    ) -> _Array: ...
    def all_to_allv_async(
        self,
        x: _Array,
        send_counts: Sequence[int],
        out: _Array,
        recv_counts: Sequence[int],
        timeout: float | None = None,
    ) -> Work: ...
    def barrier(self, timeout: float | None = None) -> None: ...
    def barrier_async(self, timeout: float | None = None) -> Work: ...
    def send(self, x: _Array, peer: int, timeout: float | None = None) -> None: ...
    def send_async(
        self, x: _Array, peer: int, timeout: float | None = None
    ) -> Work: ...
    def recv(self, x: _Array, peer: int, timeout: float | None = None) -> _Array: ...
    def recv_async(
        self, x: _Array, peer: int, timeout: float | None = None
    ) -> Work: ...
    def sendrecv(
        self,
        x: _Array,
        to_peer: int,
        out: _Array,
        from_peer: int,
        timeout: float | None = None,
    ) -> _Array: ...
    def sendrecv_async(
        self,
        x: _Array,
        to_peer: int,
        out: _Array,
        from_peer: int,
        timeout: float | None = None,
    ) -> Work: ...
    def batch(
        self,
        sends: Sequence[tuple[_Array, int]],
        recvs: Sequence[tuple[_Array, int]],
        timeout: float | None = None,
    ) -> None: ...
    def batch_async(
        self,
        sends: Sequence[tuple[_Array, int]],
        recvs: Sequence[tuple[_Array, int]],
        timeout: float | None = None,
    ) -> Work: ...

class DType:
    def __init__(self, like: Any) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def as_numpy_dtype(self) -> type: ...
    @property
    def base_dtype(self) -> DType: ...
    @property
    def is_floating(self) -> bool: ...
    @property
    def is_integer(self) -> bool: ...
    @property
    def is_bool(self) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __ne__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class _Spec(TypedDict):
    name: str

class _InputSpec(_Spec):
    types: str
    list: bool
    type_group: int

class _AttrSpec(_Spec):
    kind: str
    default: Any
    required: bool
    doc: str

class _Operation(TypedDict):
    name: str
    doc: str
    inputs: list[_InputSpec]
    outputs: list[str]
    attrs: list[_AttrSpec]
    differentiable: bool
    constant: bool
    stateful: bool

def operations() -> list[str]: ...
def operation(name: str) -> _Operation | None: ...

class Value:
    @property
    def node(self) -> Node: ...
    @property
    def index(self) -> int: ...
    @property
    def op(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def shape(self) -> tuple[int | None, ...] | None: ...
    def set_shape(self, shape: Sequence[int | None] | None) -> None: ...
    def __eq__(self, arg: object) -> bool: ...
    def __hash__(self) -> int: ...

class Node:
    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def attrs(self) -> dict[str, Any]: ...
    @property
    def inputs(self) -> list[Value]: ...
    @property
    def outputs(self) -> list[Value]: ...
    @property
    def control_inputs(self) -> list[Node]: ...
    @property
    def device(self) -> str: ...
    @device.setter
    def device(self, value: str) -> None: ...
    @property
    def origin(self) -> str: ...
    def describe(self) -> str: ...
    def add_control_input(self, before: Node) -> None: ...
    def __eq__(self, arg: object) -> bool: ...
    def __hash__(self) -> int: ...

class Graph:
    def __init__(self) -> None: ...
    def add(
        self,
        op: str,
        inputs: Sequence[Value] = [],
        attrs: dict[str, Any] = {},
        name: str = "",
        control_inputs: Sequence[Node] = [],
        origin: str = "",
    ) -> Node: ...
    @property
    def nodes(self) -> list[Node]: ...
    def __len__(self) -> int: ...
    def find(self, name: str) -> Node | None: ...
    def value(self, name: str) -> Value: ...
    def unique_name(self, name: str) -> str: ...
    def enter_name_scope(self, name: str) -> str: ...
    def enter_device_scope(self, device: str) -> None: ...
    def enter_control_scope(
        self, before: Sequence[Node], clear: bool = False
    ) -> None: ...
    def exit_scope(self) -> None: ...
    @property
    def name_scope(self) -> str: ...
    @property
    def device_scope(self) -> str: ...
    def collection(self, name: str) -> list[Value]: ...
    def add_to_collection(self, name: str, value: Value) -> None: ...
    @property
    def collections(self) -> dict[str, list[Value]]: ...
    @property
    def seed(self) -> int: ...
    @seed.setter
    def seed(self, value: int) -> None: ...

def gradients(
    ys: Sequence[Value], xs: Sequence[Value], grad_ys: Sequence[Value] = []
) -> list[Value | tuple[Value, Value, Value] | None]: ...

def to_graph_def(graph: Graph, constants_up_to: int | None = None) -> bytes: ...
def from_graph_def(graph_def: bytes) -> Graph: ...
def save_graph(graph: Graph, path: str) -> None: ...
def load_graph(path: str) -> Graph: ...
def import_graph_def(graph: Graph, graph_def: bytes) -> None: ...
def import_graph(graph: Graph, path: str) -> None: ...
def to_dot(graph: Graph) -> str: ...
def einsum(equation: str, operands: Sequence[Value]) -> Value: ...

class Session:
    def __init__(
        self, graph: Graph, *, inter_op_threads: int = 0, intra_op_threads: int = 0
    ) -> None: ...
    def run(
        self,
        fetches: Sequence[Value],
        feeds: Sequence[tuple[Value, Any]] = [],
        targets: Sequence[Node] = [],
        timeout: float | None = None,
        trace: bool = False,
    ) -> tuple[list[_Array], str | None]: ...

class Saver:
    def __init__(
        self,
        graph: Graph,
        variables: Sequence[tuple[str, Value]],
        *,
        max_to_keep: int = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        reshape: bool = False,
        pad_step_number: bool = False,
        name: str = "save",
    ) -> None: ...
    def save(
        self,
        session: Session,
        path: str,
        global_step: int | None,
        latest_filename: str,
        meta_graph_suffix: str,
        write_meta_graph: bool,
        write_state: bool,
    ) -> str: ...
    def restore(self, session: Session, path: str) -> None: ...
    @property
    def last_checkpoints(self) -> list[tuple[str, float]]: ...
    @last_checkpoints.setter
    def last_checkpoints(self, value: Sequence[tuple[str, float]]) -> None: ...
    def recover_last_checkpoints(self, paths: Sequence[str]) -> None: ...

def checkpoint_state(
    folder: str, latest_filename: str = "checkpoint"
) -> tuple[str, list[str], list[float], float] | None: ...
def update_checkpoint_state(
    folder: str,
    latest: str,
    all: Sequence[str],
    times: Sequence[float],
    preserved: float,
    latest_filename: str,
) -> None: ...
def checkpoint_file(path: str) -> str: ...
def tensors_in(
    path: str,
) -> list[tuple[str, DType | str, tuple[int, ...]]]: ...
def tensor_in(path: str, name: str) -> _Array: ...
def cond(
    condition: Value,
    if_true: Callable[[], list[Value]],
    if_false: Callable[[], list[Value]],
) -> list[Value]: ...
def while_loop(
    condition: Callable[[list[Value]], Value],
    body: Callable[[list[Value]], list[Value]],
    initial: Sequence[Value],
    parallel_iterations: int = 10,
    name: str = "while",
    shapes: Sequence[Sequence[int | None] | None] = [],
) -> list[Value]: ...

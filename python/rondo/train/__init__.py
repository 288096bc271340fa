"""Training: optimizers, checkpoints, sessions with hooks, input by queues."""

from ..framework.checkpoint import (
    CheckpointReader,
    CheckpointState,
    checkpoint_exists,
    get_checkpoint_state,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
    update_checkpoint_state,
)
from ..framework.coordinator import Coordinator
from ..framework.meta_graph import export_meta_graph
from ..framework.queue_runner import (
    QueueRunner,
    add_queue_runner,
    start_queue_runners,
)
from ..framework.saver import Saver, import_meta_graph
from ..framework.server import Server
from .checkpoint_hook import CheckpointSaverHook, CheckpointSaverListener
from .cluster_spec import ClusterSpec
from .composed_optimizer import AdadeltaOptimizer, FtrlOptimizer
from .decay import (
    cosine_decay,
    exponential_decay,
    inverse_time_decay,
    natural_exp_decay,
    piecewise_constant,
    polynomial_decay,
)
from .device_setter import (
    GreedyLoadBalancingStrategy,
    byte_size_load_fn,
    replica_device_setter,
)
from .global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from .hooks import (
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    ProfilerHook,
    StepCounterHook,
    StopAtStepHook,
    SummarySaverHook,
)
from .input import (
    batch,
    batch_join,
    input_producer,
    limit_epochs,
    match_filenames_once,
    range_input_producer,
    shuffle_batch,
    shuffle_batch_join,
    slice_input_producer,
    string_input_producer,
)
from .looper import LooperThread
from .monitored_session import (
    MonitoredSession,
    MonitoredTrainingSession,
    SingularMonitoredSession,
)
from .moving_averages import ExponentialMovingAverage
from .optimizer import (
    AdagradOptimizer,
    AdamOptimizer,
    AdamWOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    Optimizer,
    RMSPropOptimizer,
)
from .scaffold import Scaffold
from .session_creator import ChiefSessionCreator, SessionCreator, WorkerSessionCreator
from .session_manager import SessionManager
from .session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from .step_timer import SecondOrStepTimer
from .strategy import (
    DistributedOptimizer,
    Hybrid,
    ParameterServer,
    Ring,
    Single,
    Strategy,
)
from .supervisor import Supervisor
from .sync_replicas import SyncReplicasOptimizer

__all__ = [
    "AdadeltaOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "AdamWOptimizer",
    "CheckpointReader",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "CheckpointState",
    "ChiefSessionCreator",
    "ClusterSpec",
    "Coordinator",
    "DistributedOptimizer",
    "ExponentialMovingAverage",
    "FeedFnHook",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "GreedyLoadBalancingStrategy",
    "Hybrid",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "Optimizer",
    "ParameterServer",
    "ProfilerHook",
    "QueueRunner",
    "RMSPropOptimizer",
    "Ring",
    "Saver",
    "Server",
    "Scaffold",
    "SecondOrStepTimer",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "Single",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "Strategy",
    "SummarySaverHook",
    "Supervisor",
    "SyncReplicasOptimizer",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "batch",
    "batch_join",
    "byte_size_load_fn",
    "checkpoint_exists",
    "cosine_decay",
    "create_global_step",
    "exponential_decay",
    "export_meta_graph",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
    "natural_exp_decay",
    "piecewise_constant",
    "polynomial_decay",
    "range_input_producer",
    "replica_device_setter",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "update_checkpoint_state",
]

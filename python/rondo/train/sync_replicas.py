"""SyncReplicasOptimizer: the gradients of several workers, averaged and applied
once."""

import logging
import threading

from ..errors import Error, InvalidArgumentError
from ..framework.graph import GraphKeys
from ..framework.queue_runner import QueueRunner
from ..framework.tensor import IndexedSlices
from ..framework.variable import (
    Variable,
    global_variables,
    group,
    no_op,
    report_uninitialized_variables,
)
from ..ops import array
from ..ops.accumulator import ConditionalAccumulator, SparseConditionalAccumulator
from ..ops.queue import FIFOQueue
from .optimizer import Optimizer
from .session_run_hook import SessionRunHook
from .token_return import TokenReturn

_log = logging.getLogger("rondo")

# When the log begins to say what a step waits for, and how often it does.
_WORD_SECS = 5
_NEXT_WORD_SECS = 30


class SyncReplicasOptimizer(Optimizer):
    """Wraps an optimizer, so that workers that share their variables train
    synchronously.

    Each worker's train_op gives its gradients to an accumulator beside each
    variable, then waits for a token. The chief's queue runner takes the average
    of `replicas_to_aggregate` gradients, applies it, and hands out a token for
    each of `total_num_replicas` workers: the number of the new step. Where there
    are more workers than replicas to aggregate, the slowest are backups: what
    they bring too late belongs to a step that is over and is dropped. A worker that
    leaves hands back its token, for another to bring a gradient in its place.

        opt = SyncReplicasOptimizer(opt, replicas_to_aggregate=2,
                                    total_num_replicas=2)
        train_op = opt.minimize(loss, global_step=global_step)
        hook = opt.make_session_run_hook(is_chief)
    """

    def __init__(
        self,
        opt,
        replicas_to_aggregate,
        total_num_replicas=None,
        variable_averages=None,
        variables_to_average=None,
        use_locking=False,
        name="sync_replicas",
    ):
        super().__init__(name)
        if total_num_replicas is None:
            total_num_replicas = replicas_to_aggregate
        if replicas_to_aggregate < 1 or total_num_replicas < 1:
            raise InvalidArgumentError(
                f"SyncReplicasOptimizer: replicas_to_aggregate is "
                f"{replicas_to_aggregate} and total_num_replicas "
                f"{total_num_replicas}; both must be at least 1"
            )
        if (variable_averages is None) != (variables_to_average is None):
            raise InvalidArgumentError(
                "SyncReplicasOptimizer: variable_averages and variables_to_average "
                "belong together: give both or neither"
            )
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        # Workers that bring several gradients to a step need as many tokens.
        self._tokens_per_step = max(total_num_replicas, replicas_to_aggregate)
        self._total_num_replicas = total_num_replicas
        self._averages = variable_averages
        self._averaged = variables_to_average
        self._chief_queue_runner = None
        self._token_queue = None
        self._token_return = None
        self._global_step = None
        self._count = None
        self.local_step_init_op = None
        self.chief_init_op = None
        self.ready_for_local_init_op = None

    def compute_gradients(self, *args, **kwargs):
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """This worker's part of a step."""
        if global_step is None:
            raise InvalidArgumentError(
                "SyncReplicasOptimizer: pass global_step; it is what tells the "
                "gradients of one step from those of another"
            )
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise InvalidArgumentError(
                f"{self._name}: no variable has a gradient; does the loss depend on "
                "any of them?"
            )
        graph = pairs[0][1].graph
        self._global_step = global_step
        with graph.as_default(), graph.name_scope(name or self._name):
            local_step = self._make_local_step(graph)
            given, taken, accumulators = self._exchange(graph, pairs, local_step)
            with graph.on_device_of(global_step.op):
                self._token_queue = FIFOQueue(
                    -1,
                    [global_step.dtype],
                    [()],
                    shared_name="sync_token_q",
                    name="sync_token_q",
                )
            with graph.control_dependencies(given):
                with graph.on_device_of(global_step.op):
                    token = self._token_queue.dequeue()
                train_op = group(local_step.assign(token).op, name="train")
            self._count = accumulators[0].num_accumulated()
            self._make_chief(graph, taken, accumulators, local_step)
            self._make_token_return(graph)
        return train_op

    def get_chief_queue_runner(self):
        """What the chief runs: it applies the gradients of all."""
        self._want_applied("get_chief_queue_runner")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens=-1):
        """What the chief runs once, before the first step: `num_tokens` tokens, by
        default as many as let every worker begin."""
        self._want_applied("get_init_tokens_op")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise InvalidArgumentError(
                f"get_init_tokens_op: {num_tokens} tokens are too few: "
                f"{self._total_num_replicas} workers that bring "
                f"{self._replicas_to_aggregate} gradients to a step need {needed} "
                "more than one each"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        graph = self._global_step.graph
        with graph.as_default(), graph.on_device_of(self._global_step.op):
            tokens = array.fill([num_tokens], self._global_step.read_value())
            return self._token_queue.enqueue_many((tokens,))

    def make_session_run_hook(self, is_chief, num_tokens=-1):
        """For a MonitoredTrainingSession of each worker."""
        return _SyncReplicasHook(self, is_chief, num_tokens)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._opt.variables()

    def _want_applied(self, what):
        if self._token_queue is None:
            raise InvalidArgumentError(
                f"{what}: call minimize or apply_gradients first"
            )

    def _make_local_step(self, graph):
        """The step whose gradients this worker computes, on its own device: where
        an operation without state goes, which is not a parameter server."""
        here = no_op(name="local_anchor")
        with graph.control_dependencies(None), graph.on_device_of(here):
            return Variable(
                array.zeros([], self._global_step.dtype),
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                name="local_step",
            )

    def _exchange(self, graph, pairs, local_step):
        """Operations that give this worker's gradients; [(average, variable)];
        the accumulators."""
        given, taken, accumulators = [], [], []
        for grad, var in pairs:
            # Every worker's graph has to call it the same.
            label = f"{var.op.name}/grad_accum"
            sparse = isinstance(grad, IndexedSlices)
            make = SparseConditionalAccumulator if sparse else ConditionalAccumulator
            with graph.on_device_of(var.op), graph.control_dependencies(None):
                accumulator = make(var.dtype, var.shape, shared_name=label)
            with graph.on_device_of(var.op):
                if sparse:
                    given.append(
                        accumulator.apply_indexed_slices_grad(grad, local_step)
                    )
                    average = accumulator.take_indexed_slices_grad(
                        self._replicas_to_aggregate
                    )
                else:
                    given.append(accumulator.apply_grad(grad, local_step))
                    average = accumulator.take_grad(self._replicas_to_aggregate)
            taken.append((average, var))
            accumulators.append(accumulator)
        return given, taken, accumulators

    def _make_chief(self, graph, taken, accumulators, local_step):
        update = self._opt.apply_gradients(taken, self._global_step)
        if self._averages is not None:
            with graph.control_dependencies([update]):
                update = self._averages.apply(self._averaged)
        with (
            graph.control_dependencies([update]),
            graph.on_device_of(self._global_step.op),
        ):
            tokens = array.fill([self._tokens_per_step], self._global_step.read_value())
            sync = self._token_queue.enqueue_many((tokens,))
        # A runner closes its queue at the end; the tokens' has to outlive a chief
        # that starts anew.
        with graph.control_dependencies(None), graph.on_device_of(self._global_step.op):
            other = FIFOQueue(1, [self._global_step.dtype], name="chief_queue")
        self._chief_queue_runner = _ChiefQueueRunner(other, [sync])
        begin = local_step.assign(self._global_step).op
        self.local_step_init_op = begin
        # A chief that starts anew may have restored an earlier step. Gradients that
        # an earlier session left stay: the workers that gave them wait for it.
        self.chief_init_op = group(
            begin, *[a.resume_at(self._global_step) for a in accumulators]
        )
        with graph.control_dependencies(None):
            self.ready_for_local_init_op = report_uninitialized_variables(
                global_variables()
            )

    def _make_token_return(self, graph):
        with graph.control_dependencies(None), graph.on_device_of(self._global_step.op):
            token = self._global_step.read_value()
            self._token_return = TokenReturn(self._token_queue.enqueue(token))
        graph.add_to_collection(GraphKeys.QUEUE_RUNNERS, self._token_return)


class _ChiefQueueRunner(QueueRunner):
    """It waits for gradients, which may not come any more once training is over."""

    _ends_with_queue = False


class _SyncReplicasHook(SessionRunHook):
    """Begins a synchronous training, and runs the chief's part of it."""

    def __init__(self, optimizer, is_chief, num_tokens):
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens
        self._runs = 0  # that have begun and ended: odd while one is under way

    def begin(self):
        opt = self._optimizer
        opt._want_applied("make_session_run_hook")
        if self._is_chief:
            self._local_init_op = opt.chief_init_op
            self._tokens = opt.get_init_tokens_op(self._num_tokens)
            self._queue_runner = opt.get_chief_queue_runner()
        else:
            self._local_init_op = opt.local_step_init_op

    def after_create_session(self, session, coord):
        self._optimizer._token_return.leave_to_hook(session)
        missing = session.run(self._optimizer.ready_for_local_init_op)
        if len(missing) > 0:
            raise InvalidArgumentError(
                f"SyncReplicasOptimizer: these variables have no value yet: {missing}"
            )
        session.run(self._local_init_op)
        if self._is_chief:
            session.run(self._tokens)
            self._queue_runner.create_threads(
                session, coord=coord, daemon=True, start=True
            )
        self._runs = 0
        watch = threading.Thread(
            target=self._watch, args=(session, coord), name="sync_replicas", daemon=True
        )
        coord.register_thread(watch)
        watch.start()

    def end(self, session):
        self._optimizer._token_return.leave(session)

    def before_run(self, run_context):
        self._runs += 1

    def after_run(self, run_context, run_values):
        self._runs += 1

    def _watch(self, session, coord):
        """Says what a step waits for that takes long."""
        seen, pause = 0, _WORD_SECS
        while not coord.wait_for_stop(pause):
            now, pause = self._runs, _WORD_SECS
            if now == seen and now % 2 == 1:
                try:
                    _log.warning("%s", self._waits_for(session))
                except Error:
                    return  # the step itself says why
                pause = _NEXT_WORD_SECS
            seen = now

    def _waits_for(self, session):
        opt = self._optimizer
        step, there = session.run([opt._global_step, opt._count])
        needed = opt._replicas_to_aggregate
        if there >= needed:
            return (
                f"waiting for the chief to apply the {there} gradients of step {step}: "
                "is the chief running?"
            )
        return (
            f"waiting for step {step}: {there} of {needed} gradients are there; are "
            f"enough of the {opt._total_num_replicas} workers running?"
        )

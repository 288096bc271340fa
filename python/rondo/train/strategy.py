"""Strategies: how the ranks of a job train one model."""

import atexit as _atexit
import contextlib as _contextlib
import sys as _sys
import weakref as _weakref

from .. import _core
from ..errors import InvalidArgumentError
from ..framework.graph import Operation, get_default_graph
from ..framework.saver import BEFORE_SAVING
from ..framework.tensor import IndexedSlices, Tensor
from ..framework.variable import trainable_variables
from .optimizer import Optimizer

_COLLECTION = "strategies"
_JOINED = "strategies_joined"
_open = _weakref.WeakSet()


class Strategy:
    """How the ranks of a job train one model.

        strategy = rondo.train.Strategy.from_env()
        opt = strategy.distribute(rondo.train.MomentumOptimizer(0.1, 0.9))
        train_op = opt.minimize(loss)

    Every rank builds the same graph, and takes its own share of each batch.
    MonitoredTrainingSession gives all ranks the same initial values; with a plain
    session, run `strategy.initializer()`.
    """

    def __init__(self, core):
        self._core = core
        _open.add(self)

    @staticmethod
    def from_env():
        """What `rondo run --strategy` said (RONDO_STRATEGY); where it said nothing,
        the ring in a job of several ranks, and a single process otherwise."""
        return Strategy(_core.Strategy.from_env())

    @property
    def name(self):
        """ "single", "ring", "hybrid", "ps", "ps-async" or "ssp"."""
        return self._core.name

    @property
    def rank(self):
        """This process's number among the ranks that train together."""
        return self._core.rank

    @property
    def size(self):
        """How many ranks train together."""
        return self._core.size

    def distribute(self, optimizer):
        """An optimizer that changes variables by the gradients of all ranks."""
        return DistributedOptimizer(self, optimizer)

    def exchange(self, grads_and_vars):
        """[(gradient, variable)] with the mean of each gradient over all ranks.

        Gradients travel in buckets, in the order in which they become ready;
        IndexedSlices as rows.
        """
        pairs = list(grads_and_vars)
        present = [(g, v) for g, v in pairs if g is not None]
        core = self._core
        alone = self.size == 1 and core.accumulate == 1 and not core.has_servers
        if alone or not present:
            return pairs
        graph = present[0][1].graph
        with self._exchanging(graph):
            means = self._core.exchange(_given(present))
        return _means(means, pairs, graph)

    def _joint_exchange(self, pairs):
        """The means of a rank with data, those of one that joins in, and how many
        ranks have data."""
        present = [(g, v) for g, v in pairs if g is not None]
        graph = present[0][1].graph
        with self._exchanging(graph):
            *both, active = self._core.joint_exchange(_given(present))
        return *(_means(means, pairs, graph) for means in both), active

    @_contextlib.contextmanager
    def _exchanging(self, graph):
        graph._check_open("an exchange")
        self._trains(graph)
        before = len(graph._core)
        yield
        self._place(graph, before)

    def join(self, session, feed_dict=None):
        """For a rank whose data have ended, with `Ring(join=True)`: takes part in the
        steps of the others until the last has called this too.

        The session's graph has one training operation of this strategy. `feed_dict`
        has what updates need, such as a learning rate. Hooks of a MonitoredSession
        are not told of these steps.
        """
        if self.size == 1:
            return
        if not self._core.may_join:
            raise InvalidArgumentError(
                "this strategy is without join: make it with Ring(join=True)"
            )
        joined = session.graph.get_collection(_JOINED)
        if len(joined) != 1:
            raise InvalidArgumentError(
                f"the graph has {len(joined)} training operations of this strategy: "
                "join needs one"
            )
        session = _without_hooks(session)
        while session.run(joined[0], feed_dict) > 0:
            pass

    def explain(self):
        """How each gradient of this program travels, and what it costs:
        "dense1/w: factors, 11206656 bytes", which a rank sends in a step. With
        `tune_buckets`, once it has trained, also the size of its buckets."""
        return self._core.explain()

    def _trains(self, graph):
        if self not in graph.get_collection(_COLLECTION):
            graph.add_to_collection(_COLLECTION, self)

    def _place(self, graph, before):
        """Decides about the devices of the nodes that were made since."""
        if graph._devices.decides:
            for node in graph._core.nodes[before:]:
                graph._added(node)

    def _served(self, update):
        """What runs in place of an update that parameter servers make."""
        graph = update.graph
        before = len(graph._core)
        made = Operation(self._core.served(update._node), graph)
        self._place(graph, before)
        return made

    def _keeps_slots(self, graph):
        """Before a checkpoint is written, what servers keep is to be here."""
        if self._core.has_servers and not graph.get_collection(BEFORE_SAVING):
            core = self._core
            pull = Operation(core.pull_slots(graph._core), graph)

            def prepare(session):
                # Once it is closed, what the rank has is all there is.
                if not core.closed:
                    session.run(pull)

            graph.add_to_collection(BEFORE_SAVING, prepare)

    def initializer(self):
        """An operation that sets all variables of the default graph to their
        initial values, those of rank 0 on every rank."""
        graph = get_default_graph()
        graph._check_open("an initializer")
        self._keeps_slots(graph)
        return Operation(self._core.initializer(graph._core), graph)

    def broadcast(self):
        """An operation that sets all variables of the default graph to rank 0's:
        after it alone restored a checkpoint."""
        graph = get_default_graph()
        graph._check_open("a broadcast")
        self._keeps_slots(graph)
        return Operation(self._core.broadcast(graph._core), graph)

    def check_replicas(self, session):
        """Compares checksums of all trainable variables between the ranks.

        MismatchError names those that differ. All ranks call it between the same
        steps.
        """
        with session.graph.as_default():
            variables = trainable_variables()
        if self.size > 1:
            names = [v.op.name for v in variables]
            values = _without_hooks(session).run(variables)
            self._core.check_replicas(names, values)

    def pause(self):
        """With backup workers, before ranks wait for each other otherwise than by a
        step: from now on no step waits for this rank, until resume()."""
        self._core.pause()

    def resume(self):
        """When they have met, on all ranks: steps wait for this rank again."""
        self._core.resume()

    def close(self):
        """Leaves the other ranks."""
        self._core.close()

    def __repr__(self):
        return f"<rondo.train.Strategy {self.name}: rank {self.rank} of {self.size}>"


class Single(Strategy):
    """This process trains alone."""

    def __init__(self):
        super().__init__(_core.Strategy.single())


class Ring(Strategy):
    """All ranks of the job train one model, whose gradients they average by
    allreduce while the backward pass goes on.

    A first bucket of gradients, of `first_bucket_bytes`, makes communication begin
    early; the others have `bucket_bytes` (0: by the number of ranks). `wire` is
    "f32", or "bf16" for half the bytes.

    The gradient of a fully connected layer is a product of two thin matrices.
    With `factors`, those travel in its place: True, False, or "auto", where that
    takes less time by the number of rows that they have on a rank (`factor_rows`,
    where the graph does not know it; 0: as RONDO_FACTOR_ROWS says), the bytes that a
    rank sends in a second (`link_rate`; 0: as RONDO_LINK says, or by how ranks reach
    each other) and the operations that it computes (`flop_rate`; 0: as RONDO_FLOPS
    says, or 1e11). All
    ranks then need batches of the same size. RONDO_FACTORS, "off" or "on", is what
    "auto" means instead.

    With `accumulate`, so many runs of the training operation, each with a
    micro-batch, make one step: in the last of them the mean of their gradients is
    exchanged and applied.

    With `join`, ranks may come to the end of their data at different steps: see
    `Strategy.join`.

    With `tune_buckets`, the first steps of a training try buckets of several sizes,
    and the others have the quickest; `explain()` says which. Sums over more than two
    ranks then differ by rounding from one training to the next.
    """

    def __init__(
        self,
        first_bucket_bytes=1 << 20,
        bucket_bytes=0,
        wire="f32",
        factors="auto",
        factor_rows=0,
        link_rate=0.0,
        flop_rate=0.0,
        accumulate=1,
        join=False,
        tune_buckets=False,
    ):
        super().__init__(
            _core.Strategy.ring(
                first_bucket_bytes=first_bucket_bytes,
                bucket_bytes=bucket_bytes,
                wire=wire,
                factors={True: "on", False: "off"}.get(factors, factors),
                factor_rows=factor_rows,
                link_rate=link_rate,
                flop_rate=flop_rate,
                accumulate=accumulate,
                join=join,
                tune_buckets=tune_buckets,
                server_share=self._server_share,
            )
        )

    _server_share = None


class Hybrid(Ring):
    """The ring, with servers that `rondo run --servers` starts beside the ranks to
    reduce a share of each bucket of gradients. Without servers, the ring alone.

    The share is what takes the least time with so many ranks and servers, where
    their links are alike; or `server_share`, from 0 to 1. The other options are
    those of Ring.
    """

    def __init__(self, *args, server_share="auto", **options):
        self._server_share = -1.0 if server_share == "auto" else float(server_share)
        super().__init__(*args, **options)


class ParameterServer(Strategy):
    """Servers, which `rondo run --servers` starts beside the ranks, keep the
    variables and make the updates.

    `mode` is "sync": a step is that of one process on the batches of all ranks;
    "async": the gradients of each rank count when they come; or "ssp": so, but no
    rank gets more than `staleness` steps ahead of the slowest.

    With "sync" and `backup`, a step is made when all but so many ranks have sent
    their gradients; what comes later is dropped.

    `wire` is "f32", or "bf16" for half the bytes of dense gradients; values come back
    as they are.
    """

    def __init__(self, mode="sync", staleness=4, backup=0, wire="f32"):
        super().__init__(
            _core.Strategy.parameter_server(
                mode=mode, staleness=staleness, backup=backup, wire=wire
            )
        )


class DistributedOptimizer(Optimizer):
    """Changes variables as another optimizer does, by the gradients of all ranks."""

    def __init__(self, strategy, optimizer):
        super().__init__(optimizer.get_name())
        self._strategy = strategy
        self._opt = optimizer

    def compute_gradients(self, *args, **kwargs):
        """Those of this rank."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An operation that changes each variable by the mean of its gradients."""
        pairs = list(grads_and_vars)
        strategy = self._strategy
        if strategy._core.has_servers:
            return self._apply_on_servers(pairs, global_step, name)
        if not strategy._core.may_join or all(g is None for g, _ in pairs):
            pairs = strategy.exchange(pairs)
            return self._opt.apply_gradients(pairs, global_step, name)
        training, joining, active = strategy._joint_exchange(pairs)
        train_op = self._opt.apply_gradients(training, global_step, name)
        updates = self._opt.apply_gradients(joining, global_step, name)
        graph = train_op.graph
        with strategy._exchanging(graph):
            joined = strategy._core.keep_joining(active, updates._node)
        graph.add_to_collection(_JOINED, Tensor(joined, graph))
        return train_op

    def _apply_on_servers(self, grads_and_vars, global_step, name):
        if type(self._opt).apply_gradients is not Optimizer.apply_gradients:
            raise InvalidArgumentError(
                f"{type(self._opt).__name__} makes updates in its own way, which "
                "parameter servers cannot: give distribute() a plain optimizer, or "
                "take the strategy ring"
            )
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if pairs:
            self._strategy._trains(pairs[0][1].graph)
        return self._opt._apply(pairs, global_step, name, self._strategy._served)

    def get_slot(self, var, name):
        return self._opt.get_slot(var, name)

    def get_slot_names(self):
        return self._opt.get_slot_names()

    def variables(self):
        return self._opt.variables()


def strategy_of(graph):
    """The strategy that trains this graph, where several ranks do; or None."""
    found = graph.get_collection(_COLLECTION)
    return found[0] if found else None


def _without_hooks(session):
    """What hooks fetch may need data where there are no more, and the end that one
    asks for is not that of the other ranks."""
    if not hasattr(session, "run_step_fn"):
        return session
    return session.run_step_fn(lambda context: context.session)


def _value(x):
    if x is None:
        return None
    return (x._as_tensor() if hasattr(x, "_as_tensor") else x)._value


def _parts(gradient):
    if isinstance(gradient, IndexedSlices):
        parts = (gradient.values, gradient.indices, gradient.dense_shape)
        return tuple(_value(x) for x in parts)
    return _value(gradient), None, None


def _given(present):
    return [(*_parts(g), _value(v)) for g, v in present]


def _means(means, pairs, graph):
    found = iter(means)
    return [
        (g, v) if g is None else (_gradient(next(found), graph), v) for g, v in pairs
    ]


def _gradient(parts, graph):
    values, indices, shape = (None if x is None else Tensor(x, graph) for x in parts)
    return values if indices is None else IndexedSlices(values, indices, shape)


@_atexit.register
def _close_open():
    # A rank that ends without closing is not a rank that was lost, unless an
    # exception ended it, which the interpreter has then printed.
    failure = getattr(_sys, "last_value", None)
    for strategy in list(_open):
        if failure is None:
            strategy.close()
        else:
            strategy._core.abandon(f"its program ended with {failure!r}")

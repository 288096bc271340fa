"""Scaffold: what a training session needs besides the model."""

from ..errors import InvalidArgumentError
from ..framework.graph import GraphKeys, get_default_graph
from ..framework.saver import Saver
from ..framework.variable import (
    global_variables,
    global_variables_initializer,
    group,
    local_variables_initializer,
    report_uninitialized_variables,
)
from ..summary import merge_all


class Scaffold:
    """What begins a session, says whether it is ready, saves and summarises it.

    What is not given is taken from the graph's collections, or made by
    finalize(): an operation that initialises all variables, a Saver of all
    variables, all summaries as one.
    """

    def __init__(
        self,
        init_op=None,
        init_feed_dict=None,
        init_fn=None,
        ready_op=None,
        ready_for_local_init_op=None,
        local_init_op=None,
        summary_op=None,
        saver=None,
        copy_from_scaffold=None,
    ):
        given = {
            "init_op": init_op,
            "init_feed_dict": init_feed_dict,
            "init_fn": None if init_fn is None else (lambda s: init_fn(self, s)),
            "ready_op": ready_op,
            "ready_for_local_init_op": ready_for_local_init_op,
            "local_init_op": local_init_op,
            "summary_op": summary_op,
            "saver": saver,
        }
        for name, value in given.items():
            if value is None and copy_from_scaffold is not None:
                value = getattr(copy_from_scaffold, "_" + name)
            setattr(self, "_" + name, value)
        self._finalized = False

    def finalize(self):
        """Makes what is missing, and ends the building of the graph."""
        graph = get_default_graph()
        if not self._finalized:
            with graph.as_default():
                self._fill()
            self._finalized = True
        graph.finalize()
        return self

    def _fill(self):
        if self._init_op is None:
            self._init_op = collected(GraphKeys.INIT_OP, global_variables_initializer)
        if self._ready_op is None:
            self._ready_op = collected(
                GraphKeys.READY_OP, report_uninitialized_variables
            )
        if self._ready_for_local_init_op is None:
            # Local variables may begin with what global ones are.
            self._ready_for_local_init_op = collected(
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            )
        if self._local_init_op is None:
            self._local_init_op = collected(
                GraphKeys.LOCAL_INIT_OP,
                lambda: group(local_variables_initializer(), tables_initializer()),
            )
        if self._summary_op is None:
            self._summary_op = collected(GraphKeys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = collected(
                GraphKeys.SAVERS, lambda: Saver(sharded=True, allow_empty=True)
            )
        self._saver.build()

    init_op = property(lambda self: self._init_op)
    init_fn = property(lambda self: self._init_fn)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    local_init_op = property(lambda self: self._local_init_op)
    summary_op = property(lambda self: self._summary_op)
    saver = property(lambda self: self._saver)


def tables_initializer(name="init_all_tables"):
    """An operation that runs what the collection "table_initializer" has."""
    found = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*found, name=name)


def collected(key, make):
    """What the collection has; else a new one, put into it."""
    graph = get_default_graph()
    found = graph.get_collection(key)
    if len(found) > 1:
        raise InvalidArgumentError(
            f'Scaffold: the collection "{key}" has {len(found)} entries; pass the one '
            "to use"
        )
    if found:
        return found[0]
    made = make()
    if made is not None:
        graph.add_to_collection(key, made)
    return made

"""Entry: an operation that this rank has asked for, and what becomes of it."""

import threading


class Entry:
    """`tensors` are read, or reduced in place; `outcome` is what synchronize()
    returns when `done` is set, unless there is an `error`."""

    __slots__ = ("request", "tensors", "outcome", "error", "done", "finish")

    def __init__(self, request, tensors, finish=None):
        self.request = request
        self.tensors = tensors
        self.finish = finish  # makes the outcome of the list of results
        self.outcome = None
        self.error = None
        self.done = threading.Event()

    def succeed(self, results):
        try:
            self.outcome = self.finish(results) if self.finish else results
        except Exception as error:  # for who waits, not for the thread that runs it
            self.error = error
        self.done.set()

    def fail(self, error):
        self.error = error
        self.done.set()

"""Group: the ranks of a process set, and the backend that connects them."""

import datetime

import torch
import torch.distributed as dist

from .. import _backend

OPS = {
    "Average": dist.ReduceOp.AVG,
    "Sum": dist.ReduceOp.SUM,
    "Min": dist.ReduceOp.MIN,
    "Max": dist.ReduceOp.MAX,
    "Product": dist.ReduceOp.PRODUCT,
}
_LONG = datetime.timedelta(days=365)
_c10d = torch._C._distributed_c10d


class Group:
    """Collectives that return when they are done. One thread calls them; what is
    under way fails when another closes the group."""

    def __init__(self, store, ranks, rank, settings, name):
        self.ranks = list(ranks)  # of the job
        self.rank = self.ranks.index(rank)
        self.size = len(self.ranks)
        self._timeout = datetime.timedelta(seconds=settings.timeout)
        options = _backend.Options(datetime.timedelta(seconds=settings.connect_timeout))
        options.group_name = name
        self.backend = _backend.Backend(store, self.rank, self.size, options)
        # Messages wait for as long as the program has nothing to say.
        self.backend.set_timeout(_LONG)

    def close(self, reason):
        self.backend._end(reason)

    def _options(self, kind, op=None):
        options = kind()
        options.timeout = self._timeout
        options.asyncOp = False
        if op is not None:
            options.reduceOp = OPS[op]
        return options

    def allreduce(self, tensors, op):
        """In place. The tensors have one dtype."""
        if len(tensors) == 1:
            options = self._options(_c10d.AllreduceOptions, op)
            _wait(self.backend.allreduce(tensors, options))
        elif tensors:
            options = self._options(_c10d.AllreduceCoalescedOptions, op)
            _wait(self.backend.allreduce_coalesced(tensors, options))

    def broadcast(self, tensor, root):
        options = self._options(_c10d.BroadcastOptions)
        options.rootRank = root
        _wait(self.backend.broadcast([tensor], options))

    def allgather(self, tensor, rows):
        """One tensor of sum(rows) rows; this rank's has rows[self.rank]."""
        output = tensor.new_empty([sum(rows), *tensor.shape[1:]])
        options = self._options(_c10d.AllgatherOptions)
        if output.numel() == 0:
            return output
        if len(set(rows)) == 1:
            _wait(self.backend._allgather_base(output, tensor, options))
        else:
            parts = list(output.split(rows))
            _wait(self.backend.allgather([parts], [tensor], options))
        return output

    def alltoall(self, tensor, to, rows):
        """to[member] rows go to it, rows[member] come from it."""
        output = tensor.new_empty([sum(rows), *tensor.shape[1:]])
        options = self._options(_c10d.AllToAllOptions)
        _wait(self.backend.alltoall_base(output, tensor, rows, to, options))
        return output

    def reduce_scatter(self, tensor, op):
        """This rank's rows of the reduction; the first ranks have one more."""
        parts = list(tensor.split(even_rows(tensor.shape[0], self.size)))
        output = torch.empty_like(parts[self.rank])
        options = self._options(_c10d.ReduceScatterOptions, op)
        _wait(self.backend.reduce_scatter([output], [parts], options))
        return output


def _wait(work):
    if work is not None:  # else it is over
        work.wait()


def even_rows(rows, size):
    """How many of so many rows each of `size` ranks gets."""
    return [rows // size + (rank < rows % size) for rank in range(size)]

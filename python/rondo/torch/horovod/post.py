"""Post: JSON between the ranks, beside their collectives."""

import json

import torch

_LENGTH = 1  # tags
_BODY = 2


class Post:
    """Messages of one sender arrive in order. A thread may send while another
    receives."""

    def __init__(self, backend):
        self._backend = backend

    def send(self, rank, message):
        text = json.dumps(message, separators=(",", ":")).encode()
        body = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        # Not waited for: the receiver is told when a rank is lost.
        self._backend.send([torch.tensor([len(body)])], rank, _LENGTH)
        self._backend.send([body], rank, _BODY)

    def receive(self, source=None):
        """(rank, message) of `source`, or of whoever sends first."""
        length = torch.empty(1, dtype=torch.int64)
        if source is None:
            work = self._backend.recv_anysource([length], _LENGTH)
            work.wait()
            source = work._source_rank()
        else:
            self._backend.recv([length], source, _LENGTH).wait()
        body = torch.empty(int(length), dtype=torch.uint8)
        self._backend.recv([body], source, _BODY).wait()
        return source, json.loads(body.numpy().tobytes())

"""Post: JSON between the ranks, beside their collectives."""

import json

import torch

# A message is a frame of this length: eight bytes with the length of the text, and
# the text, whose rest follows as a second message where it is longer.
_FRAME = 1024
_LENGTH = 8
_encode = json.JSONEncoder(separators=(",", ":")).encode
_FIRST = 1  # tags
_REST = 2


class Post:
    """Messages of one sender arrive in order. One thread at a time sends to a rank,
    and one receives."""

    def __init__(self, backend):
        self._backend = backend

    def send(self, rank, message):
        text = _encode(message).encode()
        data = len(text).to_bytes(_LENGTH, "little") + text
        frame = bytearray(_FRAME)
        frame[: min(len(data), _FRAME)] = data[:_FRAME]
        # Not waited for: the receiver is told when a rank is lost.
        self._backend.send([_tensor(frame)], rank, _FIRST)
        if len(data) > _FRAME:
            self._backend.send([_tensor(bytearray(data[_FRAME:]))], rank, _REST)

    def receive(self, source=None):
        """(rank, message) of `source`, or of whoever sends first."""
        frame = torch.empty(_FRAME, dtype=torch.uint8)
        if source is None:
            work = self._backend.recv_anysource([frame], _FIRST)
            work.wait()
            source = work._source_rank()
        else:
            self._backend.recv([frame], source, _FIRST).wait()
        data = frame.numpy().tobytes()
        end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
        if end > _FRAME:
            rest = torch.empty(end - _FRAME, dtype=torch.uint8)
            self._backend.recv([rest], source, _REST).wait()
            data += rest.numpy().tobytes()
        return source, json.loads(data[_LENGTH:end])


def _tensor(data):
    return torch.frombuffer(data, dtype=torch.uint8)

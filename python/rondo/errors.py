"""What Rondo raises: one class per code of docs/errors.md."""

import builtins


class Error(Exception):
    """The base of everything that Rondo raises while running."""

    code = 0


class InvalidArgumentError(Error, ValueError):
    """This call cannot work."""

    code = 1


class MismatchError(Error):
    """Ranks called different operations."""

    code = 2


class PeerLostError(Error):
    """A rank died, left, or its connection broke."""

    code = 3


class TimeoutError(Error, builtins.TimeoutError):
    """A deadline passed; the message names who is late."""

    code = 4


class CancelledError(Error):
    """Somebody cancelled the operation or aborted the communicator."""

    code = 5


class UnavailableError(Error):
    """A service could not be reached."""

    code = 6


class PermissionError(Error, builtins.PermissionError):
    """Refused: a wrong token, or no rights."""

    code = 7


class ResourceError(Error):
    """Out of memory, descriptors or ports."""

    code = 8


class InternalError(Error):
    """A mistake of Rondo's own."""

    code = 9


class OutOfRangeError(Error):
    """There is no more: a closed queue that is empty, the end of a dataset."""

    code = 10


# As TensorFlow calls them.
OpError = Error
DeadlineExceededError = TimeoutError
ResourceExhaustedError = ResourceError

BY_CODE = {
    kind.code: kind
    for kind in (
        InvalidArgumentError,
        MismatchError,
        PeerLostError,
        TimeoutError,
        CancelledError,
        UnavailableError,
        PermissionError,
        ResourceError,
        InternalError,
        OutOfRangeError,
    )
}

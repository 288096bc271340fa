"""tf.errors: TensorFlow's names of what Rondo raises."""

from .. import errors as _errors
from ..errors import *  # noqa: F403
from ..errors import (
    CancelledError,  # noqa: F401
    DeadlineExceededError,  # noqa: F401
    InternalError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,  # noqa: F401
    ResourceExhaustedError,  # noqa: F401
    UnavailableError,  # noqa: F401
)
from ._missing import getattr_of

__getattr__ = getattr_of("tf.errors")

AbortedError = _errors.PeerLostError
PermissionDeniedError = _errors.PermissionError
# Rondo calls all of these a call that cannot work.
FailedPreconditionError = UnimplementedError = InvalidArgumentError
DataLossError = UnknownError = InternalError


class NotFoundError(OpError, FileNotFoundError):
    """A file is not there."""


class AlreadyExistsError(OpError, FileExistsError):
    """A file is there already."""

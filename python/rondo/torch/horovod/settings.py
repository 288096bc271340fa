"""What the environment says about how operations are run."""

import dataclasses
import os


def _number(name, default):
    text = os.environ.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f'{name} is "{text}"; it takes a number of at least 0')
    return value


def _timeline():
    """The file to write from the start; "DYNAMIC" says that start_timeline() may be
    called, as it always may here."""
    path = os.environ.get("HOROVOD_TIMELINE", "")
    return "" if path == "DYNAMIC" else path


@dataclasses.dataclass(frozen=True)
class Settings:
    stall_warning: float = 60.0  # seconds; 0: never
    stall_error: float = 1800.0  # seconds; 0: never
    fusion: int = 128 << 20  # bytes of small tensors that are reduced at once
    connect_timeout: float = 120.0
    timeout: float = 300.0  # of an operation that all ranks have begun
    timeline: str = ""
    may_grow: bool = False  # the launcher may add ranks
    is_added: bool = False  # this process is one of those

    @classmethod
    def from_environment(cls):
        """Horovod's variables, and Rondo's where Horovod has none."""
        warning = _number("HOROVOD_STALL_CHECK_TIME_SECONDS", cls.stall_warning)
        if _number("HOROVOD_STALL_CHECK_DISABLE", 0):
            warning = 0.0
        return cls(
            stall_warning=warning,
            stall_error=_number("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", cls.stall_error),
            fusion=int(_number("HOROVOD_FUSION_THRESHOLD", cls.fusion)),
            connect_timeout=_number("RONDO_CONNECT_TIMEOUT", cls.connect_timeout),
            timeout=_number("RONDO_TIMEOUT", cls.timeout),
            timeline=_timeline(),
            may_grow="RONDO_MAX_RANKS" in os.environ,
            is_added="RONDO_ADDED" in os.environ,
        )

"""What Communicator.connect takes for a store."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Store(Protocol):
    """A small key-value service through which ranks find each other.

    MemoryStore, FileStore and TcpStore are Rondo's own; any object with these
    methods will do. They are called from several threads.
    """

    def set(self, key: str, value: bytes) -> None:
        """Writes a key."""

    def get(self, key: str, timeout: float) -> bytes:
        """The key's value, waited for; raises TimeoutError after `timeout` s."""

    def add(self, key: str, amount: int) -> int:
        """Adds to a counter that starts at 0, and returns the new value."""

    def remove(self, key: str) -> None:
        """Removes a key; not an error when there is none."""

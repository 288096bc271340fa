"""Timeline: what happened to each tensor, as a Chrome trace."""

import json
import os
import threading
import time


class Timeline:
    """Written as it goes, so that a crash leaves what came before it: the format
    allows for a missing end. Any thread may call; does nothing before start()."""

    def __init__(self):
        self._lock = threading.Lock()
        self._file = None
        self._pid = 0  # the process that writes it
        self._names = {}  # tensor: its row
        self._open = {}  # tensor: the phase that it is in

    @property
    def active(self):
        return self._file is not None

    def start(self, path, rank):
        with self._lock:
            self._file = open(path if rank == 0 else f"{path}.{rank}", "w")
            self._pid = os.getpid()
            self._file.write("[\n")
            self._file.flush()
            self._names.clear()
            self._open.clear()

    def stop(self):
        if self._pid != os.getpid():  # forked: the file is the parent's
            self._file = None
            return
        with self._lock:
            if self._file is not None:
                for name in list(self._open):
                    self._end(name)
                self._file.write("{}]\n")
                self._file.close()
                self._file = None

    def begin(self, name, phase):
        if self._file is None:
            return
        with self._lock:
            self._begin(name, phase)
            self._flush()

    def run(self, names, kind):
        """They have been negotiated, and are run now."""
        if self._file is None:
            return
        with self._lock:
            for name in names:
                self._begin(name, kind.upper())
            self._flush()

    def end(self, names):
        if self._file is None:
            return
        with self._lock:
            for name in names:
                self._end(name)
            self._flush()

    # With the lock held:

    def _begin(self, name, phase):
        self._end(name)
        self._open[name] = phase
        self._write("B", name, phase)

    def _end(self, name):
        phase = self._open.pop(name, None)
        if phase is not None:
            self._write("E", name, phase)

    def _write(self, event, name, phase):
        if name not in self._names:
            self._names[name] = len(self._names) + 1
            self._line(ph="M", name="process_name", args={"name": name}, tensor=name)
        self._line(ph=event, name=phase, ts=time.monotonic_ns() / 1000, tensor=name)

    def _line(self, tensor, **fields):
        if self._file is not None:
            fields["pid"] = self._names[tensor]
            self._file.write(json.dumps(fields) + ",\n")

    def _flush(self):
        if self._file is not None:
            self._file.flush()

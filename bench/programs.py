"""The programs whose allreduce is compared: how each is started and read.

A program is a function of the ranks and the sizes that gives the processes to
start (argument lists, rank 0's first) and afterwards the rows of one run.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


class ProgramError(Exception):
    pass


def parse_size(text):
    """'64K' is 65536."""
    scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper())
    try:
        return int(text[:-1]) * scale if scale else int(text)
    except ValueError:
        raise ValueError(f"size '{text}' is not like 4, 64K or 16M") from None


def format_size(size):
    for shift, unit in ((30, "G"), (20, "M"), (10, "K")):
        if size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def end(process):
    """Asks first: mpirun ends its ranks when told to, not when killed."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def run_together(commands, limit, environments=None):
    """Runs the commands at once to their end; the first one's output.

    The first to fail ends the others and is what the error tells. Each has its
    own of the `environments`, where they are given.
    """
    running = []
    environments = environments or [None] * len(commands)
    with contextlib.ExitStack() as stack:
        outputs = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in commands]
        errors = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in commands]
        try:
            for command, out, err, environment in zip(
                commands, outputs, errors, environments, strict=True
            ):
                running.append(
                    subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=out,
                        stderr=err,
                        env=environment,
                        start_new_session=True,
                    )
                )
            deadline = time.monotonic() + limit
            while any(p.poll() is None for p in running):
                if any(p.poll() for p in running):
                    break
                if time.monotonic() > deadline:
                    raise ProgramError(
                        f"`{' '.join(commands[0])}` ran beyond {limit:.0f} s"
                    )
                time.sleep(0.01)
        except OSError as error:
            raise ProgramError(f"{commands[0][0]}: {error.strerror}") from error
        finally:
            failed = next((i for i, p in enumerate(running) if p.poll()), None)
            for process in running:
                end(process)
        if failed is not None:
            outputs[failed].seek(0)
            errors[failed].seek(0)
            said = errors[failed].read() + outputs[failed].read()
            tail = " | ".join(said.strip().splitlines()[-3:])
            raise ProgramError(
                f"`{' '.join(commands[failed])}` exited with "
                f"{running[failed].returncode}: {tail}"
            )
        outputs[0].seek(0)
        return outputs[0].read()


def json_rows(text):
    """The rows in a program's JSON: a list, {"rows": list} or one per line."""
    try:
        data = json.loads(text)
        if isinstance(data, dict):
            data = data.get("rows", [data])
        return data
    except ValueError:
        lines = [line for line in text.splitlines() if line.startswith("{")]
        return [json.loads(line) for line in lines]


class Program:
    """One contender; `name` is how tables call it."""

    def __init__(self, name, binary):
        self.name = name
        self.binary = pathlib.Path(binary)

    def missing(self):
        """Why it cannot run here, or None."""
        return None if self.binary.exists() else f"{self.binary} is not built"

    def limit(self, sizes):
        return 120 + 60 * len(sizes)

    def measure(self, ranks, sizes):
        """One run; {bytes: row}. Every size must be there."""
        with tempfile.TemporaryDirectory() as scratch:
            rows = self.rows(ranks, sizes, scratch)
        found = {row["bytes"]: row for row in rows}
        absent = [format_size(s) for s in sizes if s not in found]
        if absent:
            raise ProgramError(f"{self.name} gave no row for {', '.join(absent)}")
        return found


class Rondo(Program):
    def __init__(self, binary, transport, buffers, extra=()):
        super().__init__(f"Rondo {transport} {buffers}", binary)
        self.transport = transport
        self.buffers = buffers
        self.extra = list(extra)

    def rows(self, ranks, sizes, scratch):
        file = os.path.join(scratch, "rows.json")
        run_together(
            [
                [
                    str(self.binary),
                    "bench",
                    "allreduce",
                    "-n",
                    str(ranks),
                    "--transport",
                    self.transport,
                    "--buffers",
                    self.buffers,
                    "--sizes",
                    ",".join(map(str, sizes)),
                    "--dtype",
                    "f32",
                    "--json",
                    file,
                    *self.extra,
                ]
            ],
            self.limit(sizes),
        )
        rows = json_rows(pathlib.Path(file).read_text())
        for row in rows:
            if row["correct"] is not True:
                raise ProgramError(f"{self.name}: wrong result at {row['bytes']} bytes")
            if row["ranks"] != ranks:
                raise ProgramError(
                    f"{self.name}: {row['ranks']} ranks took part, not {ranks}"
                )
        return rows


class Mpi(Program):
    """Open MPI or MPICH; `flags` go to its mpirun."""

    def __init__(self, name, kind, folder, transport, flags, seconds):
        super().__init__(name, folder / f"mpi_allreduce_{kind}")
        self.launcher = f"mpirun.{kind}"
        self.transport = transport
        self.flags = flags
        self.seconds = seconds

    def missing(self):
        if not shutil.which(self.launcher):
            return f"{self.launcher} is not installed"
        return super().missing()

    def rows(self, ranks, sizes, scratch):
        return json_rows(
            run_together(
                [
                    [
                        self.launcher,
                        *self.flags(ranks),
                        "-np",
                        str(ranks),
                        str(self.binary),
                        "--peer",
                        self.name,
                        "--transport",
                        self.transport,
                        "--seconds",
                        str(self.seconds),
                        *map(str, sizes),
                    ]
                ],
                self.limit(sizes),
            )
        )


def cores():
    return len(os.sched_getaffinity(0))


def open_mpi_flags(*mca):
    """Open MPI yields when idle by itself where ranks outnumber its slots."""

    def flags(ranks):
        found = ["--mca", "pml", "ob1", *mca]
        if os.geteuid() == 0:
            found.append("--allow-run-as-root")
        if ranks > cores():
            found.append("--oversubscribe")
        elif ranks > 1:
            found.append("--use-hwthread-cpus")
        return found

    return flags


class Gloo(Program):
    def __init__(self, folder, algorithm, seconds):
        super().__init__(f"Gloo {algorithm}", folder / "gloo_allreduce")
        self.algorithm = algorithm
        self.seconds = seconds

    def command(self, rank, ranks, sizes, store, host):
        return [
            str(self.binary),
            "--rank",
            str(rank),
            "--ranks",
            str(ranks),
            "--store",
            store,
            "--host",
            host,
            "--algorithm",
            self.algorithm,
            "--peer",
            self.name,
            "--transport",
            "tcp",
            "--seconds",
            str(self.seconds),
            *map(str, sizes),
        ]

    def rows(self, ranks, sizes, scratch):
        return json_rows(
            run_together(
                [
                    self.command(rank, ranks, sizes, scratch, "127.0.0.1")
                    for rank in range(ranks)
                ],
                self.limit(sizes),
            )
        )


def say(text):
    print(text, file=sys.stderr, flush=True)

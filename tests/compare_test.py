"""bench/compare: which times it puts against which."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import types

import pytest

BENCH = pathlib.Path(__file__).resolve().parent.parent / "bench"

FAKE_RONDO = """#!/usr/bin/env python3
import json, sys
value = lambda name: sys.argv[sys.argv.index(name) + 1]
rows = [dict(ranks=int(value("-n")), bytes=int(size), median_us=2.0,
             correct=CORRECT) for size in value("--sizes").split(",")]
json.dump(rows, open(value("--json"), "w"))
"""


@pytest.fixture(scope="module")
def compare():
    sys.path.insert(0, str(BENCH))
    try:
        loader = importlib.machinery.SourceFileLoader(
            "bench_compare", str(BENCH / "compare")
        )
        spec = importlib.util.spec_from_loader("bench_compare", loader)
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(BENCH))


class Stub:
    """A program with given times, one per round; notes when it runs."""

    def __init__(self, name, times, log=None):
        self.name = name
        self.times = list(times)
        self.log = log if log is not None else []

    def measure(self, ranks, sizes):
        self.log.append(self.name)
        time = self.times.pop(0)
        return {size: {"median_us": time} for size in sizes}


def options(**values):
    defaults = {"cases": ["mapped", "tcp"], "ranks": [2], "sizes": [4], "rounds": 1}
    return types.SimpleNamespace(**{**defaults, **values})


def test_one_peer_on_two_transports_is_two_programs(compare):
    found = {
        "shm": ({"mapped": Stub("Rondo", [1.0])}, [Stub("Open MPI", [2.0])]),
        "tcp": ({"tcp": Stub("Rondo", [10.0])}, [Stub("Open MPI", [50.0])]),
    }
    chosen = options()
    rows = compare.compare(chosen, found, compare.measure(chosen, found))
    assert [row["peer_value"] for row in rows] == [2.0, 50.0]
    assert [row["ratio"] for row in rows] == [2.0, 5.0]


def test_medians_over_rounds_and_the_better_peer(compare):
    log = []
    found = {
        "shm": (
            {"mapped": Stub("Rondo", [1.0, 9.0, 2.0], log)},
            [
                Stub("Open MPI", [8.0, 6.0, 7.0], log),
                Stub("MPICH", [3.0, 5.0, 99.0], log),
            ],
        )
    }
    chosen = options(cases=["mapped"], rounds=3)
    (row,) = compare.compare(chosen, found, compare.measure(chosen, found))
    assert (row["rondo"], row["peer"], row["peer_value"]) == (2.0, "MPICH", 5.0)
    assert (row["ratio"], row["target"], row["met"]) == (2.5, 1.0, True)
    assert [log[i] for i in (0, 3, 6)] == ["Rondo", "Open MPI", "MPICH"]


def test_targets_are_those_of_the_speed_table(compare):
    sizes = [4, 1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20]

    def targets(case, ranks):
        return [compare.target(compare.CASES[case], ranks, s) for s in sizes]

    assert targets("mapped", 2) == [1, 1, 2, 1.15, 1.5, 4, 4]
    assert targets("mapped", 4) == [1, 1, 1.5, 2, 2, 4, 4]
    assert targets("foreign", 4) == [1, 1, 1, 1, 1.5, 2, 2]
    assert targets("tcp", 2) == [1, 1, 1, 1.2, 1.2, 1.2, 1.2]
    assert targets("mapped", 8) == [None] * 7


@pytest.mark.parametrize("correct", [True, False])
def test_a_wrong_result_is_no_time(compare, tmp_path, correct):
    command = tmp_path / "rondo"
    command.write_text(FAKE_RONDO.replace("CORRECT", str(correct)))
    command.chmod(0o755)
    times = compare.Times()
    program = compare.Rondo(command, "shm", "mapped")
    times.add(program, 2, [4, 1024])
    assert times.rounds(program, 2, 4) == ([2.0] if correct else [])
    assert len(times.failures) == (0 if correct else 1)


def test_a_peer_without_a_time_leaves_the_ratio_open(compare):
    found = {"shm": ({"mapped": Stub("Rondo", [1.0])}, [])}
    chosen = options(cases=["mapped"])
    times = compare.measure(chosen, found)
    (row,) = compare.compare(chosen, found, times)
    assert (row["peer"], row["ratio"], row["met"]) == (None, None, None)
    assert "| - (≥ 1) |" in compare.markdown(chosen, [row])
    json.dumps(row)

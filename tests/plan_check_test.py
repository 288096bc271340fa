"""rondo plan --check: what is predicted holds in a lab.

Ranks wait instead of computing, and links of 100 Mbit/s are slow against any core,
so a busy machine matters little; but it delays at times, so a method that is late
is tried again, and the best of its tries counts: that is near to what is predicted.
What comes earlier than predicted is an error at once: no machine is so busy that
it is faster, and the links carry no more than they do. Bytes are no matter of time.
"""

import json
import subprocess
import sys

import pytest
from labs import needs_root
from ranks import RONDO

pytestmark = needs_root

TRIES = 3
LONG = 600  # seconds of a test that tries again
ROUNDS = "5"  # of which the later three count
# Of what was predicted. Earlier, the prediction is at fault.
EARLY = 0.93
LATE = {"communication_seconds": 1.10, "step_seconds": 1.15}
LATE_ON_FAST_LINKS = 1.5  # there cores count, and others may use them
# Of the bytes that were predicted: headers take up to 4.6 %, next to nothing where
# links pass segments whole, and acknowledgements up to 2.3 %.
BYTES = (0.99, 1.09)
FASTEST = 1.05  # times the fastest that was tried


def plan(tmp_path, *options):
    file = tmp_path / "plan.json"
    done = subprocess.run(
        [RONDO, "plan", *options, "--json", file],
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text())


def judge(row, bytes):
    """What no busy machine explains."""
    low, high = (share * row["worker_bytes"]["predicted"] for share in bytes)
    assert low < row["worker_bytes"]["measured"] < high, row
    for what in LATE:
        assert row[what]["measured"] > EARLY * row[what]["predicted"], row


class Tried:
    """Methods by name, each with the shortest times of its tries."""

    def __init__(self, limits=LATE, bytes=BYTES):
        self.limits = limits
        self.bytes = bytes
        self.rows = {}

    def add(self, row):
        judge(row, self.bytes)
        before = self.rows.setdefault(row["method"], row)
        for what in LATE:
            best = min(before[what]["measured"], row[what]["measured"])
            before[what]["measured"] = best

    def late(self):
        """By name, what took longer than it should."""
        found = {}
        for method, row in self.rows.items():
            for what, limit in self.limits.items():
                ratio = row[what]["measured"] / row[what]["predicted"]
                if ratio > limit:
                    found[method] = f"{what}: {ratio:.2f} times as long as predicted"
        for method in self.firsts():
            ratio = self.step(method) / min(map(self.step, self.rows))
            if ratio > FASTEST:
                found[method] = f"{ratio:.2f} times as long as the fastest"
        return found

    def firsts(self):
        """What is predicted to be the fastest of them."""
        predicted = lambda m: self.rows[m]["step_seconds"]["predicted"]  # noqa: E731
        return [min(self.rows, key=predicted)] if self.rows else []

    def step(self, method):
        return self.rows[method]["step_seconds"]["measured"]


def best_of_tries(tmp_path, options, methods, rounds=ROUNDS, tried=None):
    """Those that are late are tried again."""
    options = [*options, "--step-time", "0.05"]
    _, found = plan(tmp_path, *options)
    waiting = set(methods.replace("recommended", found["recommended"]).split("; "))
    tried = tried or Tried()
    for _ in range(TRIES):
        names = ["--methods", "; ".join(sorted(waiting)), "--rounds", rounds]
        _, found = plan(tmp_path, *options, "--check", *names)
        assert {row["method"] for row in found["checked"]} == waiting
        for row in found["checked"]:
            tried.add(row)
        waiting = set(tried.late())
        if not waiting:
            break
    return tried


ALL = "recommended; ring; star; butterfly; hybrid 2"


@pytest.mark.parametrize(
    ("model", "network", "methods"),
    [
        ("lenet", "--workers 4", ALL),
        ("lenet", "--workers 2", "ps 1; ps 2"),
        ("lenet", "--workers 4 --hosts 2", "hierarchical"),
        ("lenet", "--workers 4 --racks 2 --uplink 50mbit", "ps 2"),
        # Of the hosts of three ranks and a server, the first rack has three.
        ("--params 150k", "--workers 3 --racks 2 --uplink 50mbit", "ps 1"),
        # Two blocks cross from rack to rack at once, without a limit there.
        ("lenet", "--workers 4 --racks 2", "butterfly"),
        ("mlp", "--workers 4", "recommended; ring"),
    ],
)
@pytest.mark.timeout(LONG)
def test_predictions_hold(tmp_path, model, network, methods):
    options = [*model.split(), *network.split(), "--link", "100mbit"]
    assert not best_of_tries(tmp_path, options, methods).late()


@pytest.mark.timeout(LONG)
def test_predictions_hold_at_1_gbit(tmp_path):
    options = ["lenet", "--workers", "4", "--link", "1gbit"]
    tried = Tried(dict.fromkeys(LATE, LATE_ON_FAST_LINKS))
    # Long against the 2 ms that links let through at once after a delay.
    assert not best_of_tries(tmp_path, options, "ring; star", "30", tried).late()


# Of a table of 100,000 rows a worker changes 4000, 500 kB with their numbers.
WORDS = """
import sys
import rondo as rd

words = rd.placeholder(rd.int64, [None, 40])
table = rd.Variable(rd.random_uniform([100_000, 29], -1, 1), name="table")
found = rd.nn.embedding_lookup(table, words)
rd.train.GradientDescentOptimizer(0.1).minimize(rd.reduce_mean(found * found))
rd.train.export_meta_graph(sys.argv[1])
"""


@pytest.mark.timeout(LONG)
def test_rows_of_a_table(tmp_path):
    graph = tmp_path / "graph.meta"
    subprocess.run([sys.executable, "-c", WORDS, graph], check=True, timeout=60)
    options = [graph, "--batch", "100", "--workers", "4", "--link", "100mbit"]
    # Four times what a worker sends to servers comes back, and is acknowledged.
    tried = Tried(bytes=(0.99, 1.15))
    best_of_tries(tmp_path, options, "ring; ps 2", tried=tried)
    assert not tried.late()
    rows = 4000 * (29 * 4 + 8)
    sent = {name: row["worker_bytes"]["predicted"] for name, row in tried.rows.items()}
    # The ring also says how many rows there are.
    assert sent == {"ring": 3 * (rows + 8), "ps 2": rows}


def test_servers_beside_workers(tmp_path):
    options = ["lenet", "--workers", "4", "--link", "100mbit", "--step-time", "0.05"]
    options += ["--check", "--rounds", ROUNDS, "--methods", "ps 4 beside workers"]
    row = plan(tmp_path, *options)[1]["checked"][0]
    # Of what a worker sends a quarter stays on its host, whose server sends as much
    # to the other three: one and a half times what a worker sends alone.
    low, high = (1.5 * share * row["worker_bytes"]["predicted"] for share in BYTES)
    assert low < row["worker_bytes"]["measured"] < high, row
    for what in LATE:
        assert row[what]["measured"] > EARLY * row[what]["predicted"], row


@pytest.mark.timeout(LONG)
def test_the_recommended_and_two_others(tmp_path):
    options = ["--params", "200k", "--workers", "2", "--link", "100mbit"]
    options += ["--step-time", "0.01", "--rounds", ROUNDS, "--check"]
    tried = Tried()
    for _ in range(TRIES):
        text, found = plan(tmp_path, *options)
        for row in found["checked"]:
            tried.add(row)
        if not tried.late():
            break
    assert not tried.late()
    methods = [row["method"] for row in found["checked"]]
    assert len(set(methods)) == 3
    assert methods[0] == found["recommended"]
    assert "In a lab" in text
    assert all(f"\n  {method} " in text for method in methods)
    # The last one needs spare machines, which are not recommended.
    assert tried.step(methods[0]) < FASTEST * tried.step(methods[1])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workers", "2", "--methods", "carrier pigeon"], "carrier pigeon"),
        (["--workers", "2", "--methods", "ps 0"], "ps 0"),
        (["--workers", "2", "--hosts", "1"], "--hosts 2"),
        (["--workers", "3", "--hosts", "2"], "equally many"),
    ],
)
def test_what_cannot_work_is_explained(options, said):
    done = subprocess.run(
        [RONDO, "plan", "lenet", *options, "--check"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert said in done.stderr

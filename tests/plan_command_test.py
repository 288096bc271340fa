"""rondo plan: what it prints and writes, and what it says to bad options."""

import json
import subprocess
import sys
import time

import pytest
from ranks import RONDO

DOCUMENT = {
    "--params": "138.36M",
    "--workers": "4",
    "--link": "1gbit",
    "--latency": "0",
    "--step-time": "0.55",
}


NO_NUMBERS = ["", "0", "-1", "+4", "4.5", "4x", "1e99", "9" * 20]
WHOLE = "give a whole number from 1 to 65536, not "
JSON = {"--json": "/dev/null"}


def document(changes):
    """The options of document 000's experiment, with some changed."""
    return [word for option in {**DOCUMENT, **changes}.items() for word in option]


def plan(*options):
    return subprocess.run(
        [RONDO, "plan", *options], capture_output=True, text=True, timeout=60
    )


def test_the_documents_numbers(tmp_path):
    files = {"--json": tmp_path / "plan.json", "--page": tmp_path / "plan.html"}
    done = plan(*document(files))
    assert done.returncode == 0, done.stderr
    assert "Tt = 6.64 s, Tp = 7.19 s, P = 7.6 %" in done.stdout
    found = json.loads((tmp_path / "plan.json").read_text())
    ring = next(row for row in found["methods"] if row["method"] == "ring")
    assert ring["closed"]["efficiency"] == pytest.approx(0.0765, abs=1e-4)
    assert ring["worker_bytes"] == pytest.approx(1.5 * 553.44e6)
    assert found["recommended"] == "ring"
    page = (tmp_path / "plan.html").read_text()
    assert page.count("<svg") == 2


def test_numbers_are_decimal(tmp_path):
    file = tmp_path / "plan.json"
    assert plan(*document({"--workers": "010", "--json": file})).returncode == 0
    assert json.loads(file.read_text())["network"]["workers"] == 10


def test_a_model_by_name():
    done = plan("lenet", "--workers", "8", "--hosts", "2", "--link", "100mbit")
    assert done.returncode == 0, done.stderr
    assert "hierarchical" in done.stdout
    assert "(estimated)" in done.stdout


@pytest.mark.timeout(200)  # it plans, and trains
@pytest.mark.parametrize(
    ("model", "link", "cores", "factors"),
    [
        ("mlp", "100mbit", "1", True),
        ("mlp", "100gbit", "1", False),
        # Unless told, training reckons with fewer operations a second.
        ("mlp", "25gbit", "16", True),
        ("gpt", "10gbit", "1", False),
    ],
)
def test_the_printed_command_sends_what_is_predicted(
    tmp_path, model, link, cores, factors
):
    """Over links of any rate: only the choice of what to send depends on it."""
    file = tmp_path / "plan.json"
    options = ["--workers", "4", "--link", link, "--cores", cores]
    done = plan(model, *options, "--json", file)
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    chosen = next(
        row for row in found["methods"] if row["method"] == found["recommended"]
    )
    assert ("factors" in chosen["method"]) == factors
    command = found["command"].replace("--hosts HOSTS", "")
    here = {"rondo": RONDO, "DATA": "synthetic"}
    words = [here.get(word, word) for word in command.split()]
    done = subprocess.run(
        [*words, "--steps", "2"], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    sent = f"a worker sends {chosen['worker_bytes'] / 1e6:.3g} MB in a step"
    assert sent in done.stdout


def table(done, method):
    """The words of a method's row."""
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if line[2:].startswith(method))
    return row.replace("*", "").split()


def test_hosts_may_have_different_numbers_of_workers():
    """A ring has one edge out of each host; a star brings what is elsewhere."""
    names = ["--link", "1gbit", "--step-time", "0.1", "--params", "10M"]
    even = table(plan(*names, "--workers", "6", "--hosts", "2"), "star")
    uneven = table(plan(*names, "--hosts", "a:4,b:2"), "star")
    filled = table(plan(*names, "--hosts", "a:4,b:4", "-n", "6"), "star")
    assert uneven == filled
    assert float(uneven[3]) < 0.75 * float(even[3])


@pytest.mark.parametrize(
    "options",
    [
        ["--params", "1000T", "--workers", "512", "--step-time", "1"],
        ["lenet", "--workers", "65535", "--step-time", "1"],
    ],
)
def test_large_ones_are_quick(options):
    started = time.monotonic()
    assert plan(*options).returncode == 0
    # Seconds; without sanitizers and with a core to itself two.
    assert time.monotonic() - started < 50


def test_a_saved_graph(tmp_path):
    program = tmp_path / "save.py"
    program.write_text(
        "import sys, rondo as rd\n"
        "x = rd.placeholder(rd.float32, [None, 100])\n"
        "w = rd.Variable(rd.zeros([100, 50]))\n"
        "loss = rd.reduce_sum(rd.matmul(x, w))\n"
        "rd.train.export_meta_graph(sys.argv[1] + '/bare')\n"
        "rd.train.GradientDescentOptimizer(0.1).minimize(loss)\n"
        "rd.train.export_meta_graph(sys.argv[1] + '/trained')\n"
    )
    subprocess.run([sys.executable, program, tmp_path], check=True, timeout=60)
    trained = plan(tmp_path / "trained", "--workers", "2")
    assert trained.returncode == 0, trained.stderr
    assert "20 kB of gradients" in trained.stdout
    bare = plan(tmp_path / "bare", "--workers", "2")
    assert bare.returncode == 2
    assert "no gradients" in bare.stderr and "minimize" in bare.stderr


TWICE = """
import sys
import rondo as rd

x = rd.placeholder(rd.float32, [None, 10])
w = rd.Variable(rd.zeros([10, 5]), name="w")
loss = rd.reduce_sum(rd.matmul(x, w))
rd.train.GradientDescentOptimizer(0.1).minimize(loss)
rd.train.AdamOptimizer(0.1).minimize(loss)
rd.train.export_meta_graph(sys.argv[1])
"""

EMPTY = """
import sys
import rondo as rd

words = rd.placeholder(rd.int64, [0])
table = rd.Variable(rd.zeros([10, 5]))
loss = rd.reduce_sum(rd.nn.embedding_lookup(table, words))
rd.train.GradientDescentOptimizer(0.1).minimize(loss)
rd.train.export_meta_graph(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [(TWICE, "update the variable w"), (EMPTY, "nothing to exchange")],
    ids=["twice", "empty"],
)
def test_graphs_that_are_no_step_are_explained(tmp_path, program, said):
    graph = tmp_path / "graph.meta"
    subprocess.run([sys.executable, "-c", program, graph], check=True, timeout=60)
    done = plan(graph, "--workers", "2")
    assert done.returncode == 2
    assert str(graph) in done.stderr and said in done.stderr
    assert not done.stdout


def test_output_that_cannot_be_written_is_said():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [RONDO, "plan", *document({})],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert "is the disk full?" in done.stderr


MEASURED = """
import sys
import rondo as rd

x = rd.placeholder(rd.float32, [None, 64], name="x")
y = rd.placeholder(rd.int64, [None], name="y")
keep = rd.placeholder(rd.float32, [], name="keep")
w = rd.Variable(rd.random_uniform([64, 64], -1, 1), name="w")
v = rd.Variable(rd.random_uniform([64, 10], -1, 1), name="v")
h = rd.nn.dropout(rd.nn.relu(rd.matmul(x, w)), keep)
losses = rd.nn.sparse_softmax_cross_entropy_with_logits(
    logits=rd.matmul(h, v), labels=y
)
rd.train.AdamOptimizer(0.001).minimize(rd.reduce_mean(losses))
rd.train.export_meta_graph(sys.argv[1])
"""


def test_a_saved_graph_is_measured(tmp_path):
    graph, file = tmp_path / "graph.meta", tmp_path / "plan.json"
    subprocess.run([sys.executable, "-c", MEASURED, graph], check=True, timeout=60)
    options = [graph, "--workers", "2", "--batch", "16", "--step-time", "measure"]
    done = plan(*options, "--feed", "keep=0.5", "--feed", "y=9", "--json", file)
    assert done.returncode == 0, done.stderr
    fed = "measured here, with x [16, 64] = 0.1, y [16] = 9, keep [] = 0.5"
    assert fed in done.stdout
    found = json.loads(file.read_text())
    assert found["workload"]["step_seconds"] > 0
    # Each key by itself: v's gradient is there before w's.
    servers = next(row for row in found["methods"] if row["method"] == "ps 1")
    last, first = (one["ready"] for one in servers["exchanges"])
    assert 0 < last < first < 1
    wrong = plan(*options, "--feed", "y=10")
    assert wrong.returncode == 2
    assert "label 10 of row 0" in wrong.stderr and "--feed NAME=1" in wrong.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        *(({"--workers": bad}, WHOLE + f'"{bad}"') for bad in [*NO_NUMBERS, "nan"]),
        *(({"--racks": bad}, WHOLE + f'"{bad}"') for bad in NO_NUMBERS),
        *(({"--hosts": bad}, f"--hosts {bad}: ") for bad in NO_NUMBERS[1:]),
        ({"--hosts": "3,4"}, "3 is a number"),
        ({"--hosts": "a:4,b:4", "--workers": "9"}, "only 8 ranks"),
        ({"--hosts": "a:4,b:4", "--workers": "65536"}, "1 to 4096"),
        ({"--hosts": ""}, "--hosts: it is empty"),
        ({"--gpus-per-host": "0"}, "--gpus-per-host: give a whole number"),
        ({"--link": ""}, "--link: it is empty"),
        ({"--link": "-1gbit"}, "more than zero"),
        ({"--link": "1furlong"}, "no unit"),
        ({"--link": "0x10gbit"}, "no unit"),
        ({"--link": "1e308gbit"}, "from 1bit to 1000tbit"),
        ({"--params": "1e99"}, "--params"),
        ({"--batch": "9" * 20}, "from 1 to 1000000"),
        ({"--cores": "9" * 20}, "from 1 to 65536"),
        ({"--jitter": "99"}, "from 0 to 10"),
        ({"--straggler": "nan"}, "from 1 to 1000"),
        ({"--price-per-hour": "inf"}, "--price-per-hour"),
        ({"--interface": "lo"}, "--measure"),
        ({"--step-time": "measure"}, "needs something to run"),
        ({"--feed": "x=1"}, "add --step-time measure"),
        ({"--page": "/nosuch/page.html"}, "--page"),
        ({"--json": "/tmp"}, "--json /tmp: this is a folder"),
        ({"--json": "/tmp/plan", "--page": "/tmp/../tmp/plan"}, "the same file"),
        ({"--methods": "ring"}, "add --check"),
        ({**JSON, "--methods": "ring;"}, 'no method ""'),
        ({**JSON, "--methods": "direct"}, "workers of one host"),
        ({**JSON, "--methods": "ps 2000000000"}, "64 hosts at most"),
        ({**JSON, "--methods": "ps 2, bf16"}, "back in f32"),
        ({**JSON, "--methods": "ps 2, factors"}, "servers get whole gradients"),
        ({**JSON, "--methods": "ring; ring, factors"}, "no layer whose gradient"),
        ({**JSON, "--methods": "ps 5 beside workers"}, "there are 4 workers"),
        ({"--rounds": "3"}, "--check"),
    ],
)
def test_bad_options_are_named(options, said):
    done = plan(*document(options))
    assert done.returncode == 2
    assert said in done.stderr
    assert not done.stdout


def test_no_graph_says_what_a_graph_is():
    for file in ["/etc/passwd", "/dev/null", "/tmp"]:
        done = plan(file)
        assert done.returncode == 2
        assert file in done.stderr and "export_meta_graph" in done.stderr


def test_methods_are_predicted_for_a_lab(tmp_path):
    file = tmp_path / "plan.json"
    assert plan(*document({"--json": file, "--methods": "ring; ps 2"})).returncode == 0
    checked = json.loads(file.read_text())["checked"]
    assert [one["method"] for one in checked] == ["ring", "ps 2"]
    assert "predicted" in checked[0]["step_seconds"]
    assert "measured" not in checked[0]["step_seconds"]

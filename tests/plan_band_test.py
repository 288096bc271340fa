"""The error bands of rondo plan hold for 95 % of what was measured in labs."""

import json
import subprocess

import pytest
from ranks import RONDO, ROOT

CELLS = json.loads((ROOT / "bench/plan_cells.json").read_text())
# As bench/plan has them.
STEP_SECONDS = {"lenet": "0.02", "mlp": "0.02", "vgg16": "0.55"}
NETWORKS = {
    "100mbit": ["--link", "100mbit"],
    "1gbit": ["--link", "1gbit"],
    "racks": ["--link", "1gbit", "--racks", "2", "--uplink", "200mbit"],
}
SHARE = 0.95


def predicted(model, network, hosts, workers, file):
    subprocess.run(
        [RONDO, "plan", model, "--hosts", str(hosts), "--workers", str(workers)]
        + [*NETWORKS[network], "--step-time", STEP_SECONDS[model], "--json", file],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=60,
    )
    return {row["method"]: row for row in json.loads(file.read_text())["methods"]}


def kind_of(method):
    return "ring, factors" if "factors" in method else method.split()[0]


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """By kind of method and what was measured: pairs of an error and its band."""
    file = tmp_path_factory.mktemp("plan") / "plan.json"
    plans, found = {}, {}
    for cell in CELLS:
        workers = cell["hosts"] * cell["each"]
        key = (cell["model"], cell["network"], cell["hosts"], workers)
        if key not in plans:
            plans[key] = predicted(*key, file)
        row = plans[key].get(cell["method"])
        # More servers than workers have no row.
        if not row or not row["error_band"]:
            continue
        time = row["simulated"][f"{cell['what']}_seconds"]
        pair = (abs(cell["rondo"] / time - 1), row["error_band"][cell["what"]])
        found.setdefault((kind_of(cell["method"]), cell["what"]), []).append(pair)
    return found


def test_bands_hold_for_what_was_measured(errors):
    wrong = []
    for (kind, what), pairs in sorted(errors.items()):
        within = sum(error <= band for error, band in pairs)
        if within < SHARE * len(pairs):
            ordered = sorted(error for error, _ in pairs)
            needed = ordered[-1 - int((1 - SHARE) * len(pairs))]
            wrong.append(f"{kind}, {what}: {needed:.1%} is needed")
    assert not wrong, "see rondo/plan/error_band.cc: " + "; ".join(wrong)
    assert len(errors) == 2 * 7

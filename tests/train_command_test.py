"""`rondo train` with real processes: the same training with any number of workers,
after a checkpoint, and what bad luck and bad input get."""

import json
import os
import pathlib
import re
import signal
import subprocess

import PIL.Image
import pytest
from ranks import RONDO, clean_env, wait_until

FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")


def command(model, *options, data="synthetic"):
    common = ["--data", data, "--log-every", 1]
    if "--batch" not in options:
        common += ["--batch", 16]
    return [str(x) for x in [RONDO, "train", model, *common, *options]]


def rondo_train(model, *options, env=None, **more):
    return subprocess.run(
        command(model, *options, **more),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=clean_env(**(env or {})),
    )


def losses(done):
    """By step."""
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^step (\d+)/\d+, loss ([0-9.]+),", done.stdout, re.M)
    return {int(step): float(loss) for step, loss in found}


def accuracy(done):
    return float(re.search(r"^test accuracy: ([0-9.]+) %$", done.stdout, re.M)[1])


@pytest.mark.parametrize("model", ["mlp", "lenet"])
def test_any_number_of_workers_has_the_same_curve(model):
    alone = rondo_train(model, "--steps", 5)
    curve = losses(alone)
    assert sorted(curve) == [1, 2, 3, 4, 5] and curve[5] < curve[1]
    for workers in (2, 4):
        together = rondo_train(model, "--steps", 5, "-n", workers, "--strategy", "ring")
        assert losses(together) == pytest.approx(curve, abs=2e-4), workers
        assert accuracy(together) == pytest.approx(accuracy(alone), abs=1)
        assert f"{workers} workers (ring" in together.stdout


def test_workers_with_servers_in_step_have_the_same_curve():
    curve = losses(rondo_train("lenet", "--steps", 4))
    for strategy in ("ps", "hybrid"):
        options = ["--steps", 4, "-n", 2, "--strategy", strategy, "--servers", 2]
        served = rondo_train("lenet", *options)
        assert losses(served) == pytest.approx(curve, abs=2e-4)
        assert f"2 workers ({strategy}" in served.stdout


def test_workers_that_are_late_are_not_waited_for():
    # Epochs end: workers meet, the late ones too, and go on.
    options = ["-n", 3, "--batch", 768, "--strategy", "ps", "--servers", 1]
    done = rondo_train("mlp", *options, "--backup", 1, "--epochs", 3)
    assert sorted(losses(done)) == list(range(1, 16))
    assert len(re.findall(r"^epoch \d, step", done.stdout, re.M)) == 3
    # What one step in five of them teaches.
    assert accuracy(done) > 20


@pytest.mark.parametrize("strategy", ["single", "ring", "hybrid", "ps-async"])
def test_nobody_ignores_backup_workers(strategy):
    options = ["--steps", 2, "--strategy", strategy]
    options += ["-n", 1 if strategy == "single" else 2]
    options += ["--servers", 1] if strategy in ("hybrid", "ps-async") else []
    done = rondo_train("mlp", *options, env={"RONDO_BACKUP": "1"})
    assert done.returncode == 2
    assert "RONDO_BACKUP=1: only the strategy ps has backup workers" in done.stderr
    # The command line counts more than the environment.
    done = rondo_train("mlp", *options, "--backup", 0, env={"RONDO_BACKUP": "1"})
    assert done.returncode == 0, done.stderr
    # A worker of a job finds it, too.
    if strategy == "ring":
        done = subprocess.run(
            [RONDO, "run", "-n", "2", "--", *command("mlp", "--steps", 2)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=clean_env(RONDO_BACKUP="1"),
        )
        assert done.returncode == 1
        assert "RONDO_BACKUP=1: only the strategy ps" in done.stderr


def test_gradients_travel_as_factors_where_that_is_less():
    curves = []
    for factors, said in (("auto", "as factors: mlp/dense1/kernel"), ("off", "no ")):
        options = ["--steps", 4, "-n", 2, "--factors", factors]
        done = rondo_train("mlp", *options)
        curves.append(losses(done))
        assert f"MB in a step; {said}" in done.stdout
    assert curves[0] == pytest.approx(curves[1], abs=2e-4)


def test_products_in_bf16_learn_alike(tmp_path):
    whole = ["--precision", "fp32", "--optimizer", "sgd", "--checkpoint"]
    half = ["--precision", "bf16", *whole[2:]]
    curve = losses(rondo_train("lenet", "--steps", 8, *whole, tmp_path / "a"))
    # From the same weights.
    rondo_train("lenet", "--steps", 3, *whole, tmp_path / "b")
    more = ["--resume", "--steps", 8, "-n", 2, "--factors", "on"]
    done = rondo_train("lenet", *half, tmp_path / "b", *more)
    rest = {step: curve[step] for step in range(4, 9)}
    assert losses(done) == pytest.approx(rest, abs=0.02)
    assert losses(done) != rest
    assert "as factors: lenet/dense1/kernel" in done.stdout


def spans(trace, rank, kind):
    """Begin and end of a rank's events of a kind, by name."""
    return {
        e["name"]: (e["ts"], e["ts"] + e["dur"])
        for e in trace
        if e["ph"] == "X" and e["pid"] == rank and e["cat"] == kind
    }


def names_of(trace, kind, rank):
    return [e["args"]["name"] for e in trace if (e["name"], e["pid"]) == (kind, rank)]


def test_one_trace_of_all_workers_by_one_clock(tmp_path):
    file = tmp_path / "trace.json"
    options = ["--steps", 6, "-n", 3, "--batch", 24]
    done = rondo_train("lenet", *options, "--trace", file, "--trace-steps", "3:5")
    assert f"trace: {file} (steps 3 to 5)" in done.stdout, done.stderr
    trace = json.loads(file.read_text())["traceEvents"]
    steps = [spans(trace, rank, "Step") for rank in range(3)]
    for rank in range(3):
        assert list(steps[rank]) == ["step 3", "step 4", "step 5"]
        assert spans(trace, rank, "AllReduce") and spans(trace, rank, "Input")
        assert names_of(trace, "process_name", rank)[0].startswith(f"rank {rank} (")
        lanes = names_of(trace, "thread_name", rank)
        assert lanes[0] == "steps" and "exchanges" in lanes
    # Nobody ends a step before all have begun it: their gradients are in it.
    for step in steps[0]:
        last_to_begin = max(each[step][0] for each in steps)
        first_to_end = min(each[step][1] for each in steps)
        assert last_to_begin < first_to_end + 1000, (step, steps)


def test_a_trace_that_cannot_be_written_does_not_end_it(tmp_path):
    done = rondo_train("mlp", "--steps", 2, "--trace", tmp_path / "none" / "trace")
    assert done.returncode == 1
    assert "--trace: cannot write" in done.stdout and "test accuracy" in done.stdout


def test_the_report_says_where_the_time_of_each_worker_went():
    done = rondo_train("mlp", "--steps", 20, "-n", 2)
    assert losses(done)
    assert "computing  communication  for the slowest  input" in done.stdout
    for shares in worker_shares(done):
        assert sum(shares) == pytest.approx(100, abs=0.3), shares
    # Somebody is the last to come to an exchange, and there it takes time too.
    assert sum(communication for _, communication, _, _ in worker_shares(done)) > 0


def worker_shares(done):
    """Of each worker: computing, communication, for the slowest and input."""
    lines = re.findall(r"^ +([01]) +\d+ ((?: +[0-9.]+ %){4})$", done.stdout, re.M)
    assert [rank for rank, _ in lines] == ["0", "1"], done.stdout
    return [[float(x) for x in re.findall(r"[0-9.]+", shares)] for _, shares in lines]


def test_steps_that_are_traced_are_looked_at_too(tmp_path):
    done = rondo_train("mlp", "--steps", 6, "-n", 2, "--trace", tmp_path / "trace")
    assert losses(done) and "trace: " in done.stdout
    shares = worker_shares(done)
    assert sum(communication for _, communication, _, _ in shares) > 0, shares


def test_one_step_is_too_few_to_say_where_the_time_went():
    done = rondo_train("mlp", "--steps", 1, "-n", 2)
    assert losses(done)
    assert len(re.findall(r"^ +[01] +0 +- +- +- ", done.stdout, re.M)) == 2, done.stdout


def test_buckets_are_tuned_and_the_report_says_how():
    options = ["--steps", 30, "--lr", 0.01, "-n", 2]
    usual = losses(rondo_train("mlp", *options))
    done = rondo_train("mlp", *options, "--tune-buckets")
    assert losses(done) == pytest.approx(usual, abs=1e-5)
    found = re.findall(
        r"^buckets of up to \S+ MiB, \d+ in a step: .*", done.stdout, re.M
    )
    assert len(found) == 1, done.stdout


@pytest.mark.parametrize("travel", ["--wire bf16", "--factors on", "--tune-buckets"])
def test_how_gradients_travel_must_suit_the_strategy_of_the_environment(travel):
    env = {"RONDO_STRATEGY": "ps"}
    done = rondo_train("mlp", "--steps", 1, "-n", 2, *travel.split(), env=env)
    assert done.returncode == 1
    said = f"RONDO_STRATEGY: {travel} is for --strategy ring or hybrid, not ps"
    assert said in done.stderr, done.stderr


@pytest.fixture(scope="module")
def ring_accuracy():
    return accuracy(rondo_train("mlp", *OUT_OF_STEP, "--strategy", "ring"))


OUT_OF_STEP = ["--steps", 80, "-n", 2, "--batch", 32, "--optimizer", "sgd"]
OUT_OF_STEP += ["--lr", 0.02]


@pytest.mark.parametrize("strategy", ["ps-async", "ssp"])
def test_workers_out_of_step_learn_as_much(strategy, ring_accuracy):
    servers = ["--strategy", strategy, "--servers", 1]
    done = rondo_train("mlp", *OUT_OF_STEP, *servers)
    assert len(losses(done)) == 80
    # A guess is right in 10 %.
    assert ring_accuracy > 95
    assert accuracy(done) == pytest.approx(ring_accuracy, abs=1)


def test_text_and_bf16_on_the_wire(tmp_path):
    text = tmp_path / "text"
    text.write_text("To be, or not to be, that is the question. " * 200)
    options = ["--steps", 3, "--optimizer", "adam"]
    alone = losses(rondo_train("gpt", *options, data=text))
    both = ["-n", 2, "--wire", "bf16", "--strategy", "allreduce"]
    together = losses(rondo_train("gpt", *options, *both, data=text))
    assert together == pytest.approx(alone, rel=0.02)
    # Rounded, so not the very same.
    assert together[3] != alone[3]


def test_a_resumed_training_is_the_one_that_was_not_interrupted(tmp_path):
    options = ["--optimizer", "adam", "--checkpoint"]
    whole = losses(rondo_train("mlp", "--steps", 6, *options, tmp_path / "a", "-n", 2))
    folder = tmp_path / "b"
    rondo_train("mlp", "--steps", 3, *options, folder, "-n", 2)
    # On another number of workers.
    rest = rondo_train("mlp", "--steps", 6, *options, folder, "--resume", "-n", 4)
    assert "model-3 at step 3" in rest.stdout
    assert losses(rest) == pytest.approx({s: whole[s] for s in (4, 5, 6)}, abs=2e-4)
    assert (folder / "model-6.safetensors").exists()

    # What was not asked for is not done to a folder that is in use.
    again = rondo_train("mlp", "--steps", 6, *options, folder)
    assert again.returncode == 1
    assert "--resume goes on from it" in again.stderr
    other = rondo_train("mlp", *options, folder, "--resume", "--batch", 32)
    assert other.returncode == 1
    assert "a training with --batch 16 --seed 1" in other.stderr


def test_a_training_goes_over_to_servers_and_back(tmp_path):
    options = ["-n", 2, "--optimizer", "adam", "--checkpoint"]
    whole = losses(rondo_train("mlp", "--steps", 6, *options, tmp_path / "a"))
    folder = tmp_path / "b"
    curve = {}
    for steps, strategy in (
        (2, ["ring"]),
        (4, ["ps", "--servers", 1]),
        (6, ["hybrid", "--servers", 1]),
    ):
        more = ["--resume", "--steps", steps, "--strategy", *strategy]
        curve |= losses(rondo_train("mlp", *options, folder, *more))
    # What Adam keeps went along: without it the third step is another.
    assert curve == pytest.approx(whole, abs=2e-4)


class Training:
    """One that goes on until it is ended."""

    def __init__(self, folder, *options):
        self.out = folder / "out"
        with open(self.out, "wb") as file:
            self.process = subprocess.Popen(
                command("mlp", "--steps", 1000000, *options),
                stdout=file,
                stderr=subprocess.STDOUT,
                env=clean_env(),
            )

    @property
    def text(self):
        return self.out.read_text()

    def wait_step(self, step):
        wait_until(lambda: f"step {step}/" in self.text, 60, lambda: self.text)

    def rank(self, number):
        """The process of a rank."""
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                environment = (proc / "environ").read_bytes().split(b"\0")
                parent = int((proc / "stat").read_text().rsplit(")", 1)[1].split()[1])
                mine = (pathlib.Path("/proc") / str(parent) / "stat").read_text()
            except OSError:
                continue
            above = int(mine.rsplit(")", 1)[1].split()[1])
            wanted = f"RONDO_RANK={number}".encode()
            if wanted in environment and above == self.process.pid:
                return int(proc.name)
        raise AssertionError(f"no rank {number}")


@pytest.fixture
def training(tmp_path):
    started = []

    def start(*options):
        started.append(Training(tmp_path, *options))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


@pytest.mark.parametrize("strategy", ["ring", "ps --servers 1"])
def test_ctrl_c_leaves_a_checkpoint(tmp_path, training, strategy):
    folder = tmp_path / "run"
    job = training(*["-n", 2, "--checkpoint", folder, "--strategy"], *strategy.split())
    job.wait_step(2)
    job.process.send_signal(signal.SIGINT)
    assert job.process.wait(60) == 128 + signal.SIGINT, job.text
    step = int(re.search(r"stopped at step (\d+) of", job.text)[1])
    assert "--resume goes on" in job.text
    more = ["--checkpoint", folder, "--resume", "--steps", step + 1]
    assert list(losses(rondo_train("mlp", *more))) == [step + 1]


def test_a_trace_that_was_not_reached_is_not_named(tmp_path, training):
    file = tmp_path / "trace"
    job = training("-n", 2, "--trace", file, "--trace-steps", "999990:999999")
    job.wait_step(2)
    job.process.send_signal(signal.SIGINT)
    assert job.process.wait(60) == 128 + signal.SIGINT, job.text
    assert f"no trace: {file} is written after step 999999" in job.text
    assert f"trace: {file} (" not in job.text and not file.exists()


def test_a_killed_worker_is_named_and_the_checkpoint_stays(tmp_path, training):
    folder = tmp_path / "run"
    job = training("-n", 3, "--batch", 24, "--checkpoint", folder, "--save-every", 2)
    job.wait_step(5)
    os.kill(job.rank(2), signal.SIGKILL)
    assert job.process.wait(60) == 128 + signal.SIGKILL, job.text
    assert re.search(r"rank 2 \(pid \d+\) was killed", job.text), job.text
    assert re.search(r"rank 2 .* was lost", job.text), job.text
    assert f"--resume goes on from the last checkpoint in {folder}" in job.text
    last = max(int(x.stem[6:]) for x in folder.glob("model-*.safetensors"))
    more = ["--checkpoint", folder, "--resume", "--steps", last + 1]
    assert list(losses(rondo_train("mlp", "--batch", 24, *more))) == [last + 1]


def test_a_loss_that_is_no_number_ends_the_training():
    done = rondo_train("mlp", "--lr", 1e8, "-n", 2, "--steps", 50)
    assert done.returncode == 1
    assert re.search(r"the loss is -?(nan|inf) at step \d+: .*--lr", done.stderr)


def test_a_checkpoint_that_cannot_be_written_does_not_end_it(tmp_path):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "run"
    done = rondo_train("mlp", "--steps", 2, "--checkpoint", folder)
    assert done.returncode != 0
    assert "no checkpoint of step 2: cannot make the folder" in done.stdout
    assert "test accuracy" in done.stdout


def test_options_from_a_file_and_event_files(tmp_path):
    config = tmp_path / "config"
    config.write_text("steps = 4  # few\nbatch = 64\noptimizer = sgd\n")
    logs = tmp_path / "logs"
    done = rondo_train("mlp", "--config", config, "--logdir", logs, "--speedup")
    # The command line counts more.
    assert "batch 16" in done.stdout and "step 4/4" in done.stdout
    assert "speed-up: " in done.stdout
    assert f"summary: {logs}" in done.stdout
    assert [x for x in logs.iterdir() if "tfevents" in x.name]
    config.write_text("step = 4\n")
    done = rondo_train("mlp", "--config", config)
    assert done.returncode == 2 and 'there is no option "step"' in done.stderr


def test_a_job_of_another_launcher(tmp_path):
    done = subprocess.run(
        [RONDO, "run", "-n", "2", "--"] + command("mlp", "--steps", 2),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=clean_env(),
    )
    assert done.returncode == 0, done.stderr
    assert "[0] step 2/2" in done.stdout and "2 workers (ring" in done.stdout


@pytest.mark.parametrize(
    ("model", "options", "code", "said"),
    [
        ("lent", [], 2, 'no model "lent"; there are mlp, lenet'),
        ("mlp", ["--data", "no/such"], 2, "no such file or folder"),
        ("mlp", ["--strategy", "rign"], 2, "there are single, ring, allreduce"),
        ("mlp", ["--strategy", "ps"], 2, "ps --servers 0: ps, ps-async and ssp take"),
        ("mlp", ["-n", 3], 2, "must be a multiple of -n, 3"),
        ("mlp", ["--backup", 1], 2, "--backup 1: only the strategy ps has"),
        ("mlp", ["--restart-servers", 1], 2, "the job has no servers; add --servers"),
        ("mlp", ["-n", 0], 2, "-n 0: expected 1 to"),
        ("mlp", ["--trace-steps", "1:2"], 2, "--trace-steps needs --trace FILE"),
        ("mlp", ["--resume"], 2, "--resume needs --checkpoint"),
        ("mlp", ["--batch", 8192], 1, "has only 4096 examples"),
        ("vgg16", ["--data", "DAMAGED"], 1, "is cut off"),
        ("gpt", ["--data", "IDX"], 1, "gpt takes text, and IDX is images"),
    ],
)
def test_bad_input_is_told_what_to_change(tmp_path, model, options, code, said):
    head = b"\0\0\x08\x03" + b"\0\0\0\x02" * 3
    for name, pixels in (("IDX", 8), ("DAMAGED", 7)):
        folder = tmp_path / name
        folder.mkdir()
        for part in ("train", "t10k"):
            images = folder / f"{part}-images-idx3-ubyte"
            images.write_bytes(head + bytes(pixels))
            labels = folder / f"{part}-labels-idx1-ubyte"
            labels.write_bytes(b"\0\0\x08\x01\0\0\0\x02\0\x01")
    options = [tmp_path / x if x in ("IDX", "DAMAGED") else x for x in options]
    command_line = [RONDO, "train", model, "--data", "synthetic"]
    if "--data" in options:
        command_line = [RONDO, "train", model]
    done = subprocess.run(
        [str(x) for x in [*command_line, *options]],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=clean_env(),
    )
    # 2: found before there were workers; 1: by one of them.
    assert done.returncode == code, done.stdout + done.stderr
    assert said.replace("IDX", str(tmp_path / "IDX")) in done.stderr


def write_images(folder, count):
    """Two classes: images that are bright above, and on the left."""
    for name, box in (("above", (0, 0, 90, 30)), ("left", (0, 0, 30, 90))):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            image = PIL.Image.new("RGB", (60 + i, 60), (i, 2 * i, 0))
            image.paste((200, 210, 220), box)
            image.save(folder / name / f"{i}.{'png' if i % 2 else 'jpg'}")


def test_a_folder_of_images(tmp_path):
    write_images(tmp_path / "train", 20)
    write_images(tmp_path / "test", 5)
    options = ["--steps", 12, "--batch", 8, "--lr", 0.01]
    alone = rondo_train("mlp", *options, data=tmp_path)
    together = rondo_train("mlp", *options, "-n", 2, data=tmp_path)
    assert losses(together) == pytest.approx(losses(alone), abs=2e-4)
    assert accuracy(alone) > 95
    wrong = tmp_path / "train" / "left" / "x.png"
    wrong.write_text("text")
    done = rondo_train("mlp", *options, data=tmp_path)
    assert done.returncode == 1 and f'"{wrong}" is neither a JPEG' in done.stderr


def test_workers_with_other_files_do_not_train(tmp_path):
    for rank in range(2):
        write_images(tmp_path / str(rank), 10)
    lost = tmp_path / "1" / "left" / "0.jpg"
    lost.unlink()
    train = f"exec {RONDO} train mlp --steps 2 --batch 4 --data {tmp_path}/$RONDO_RANK"
    done = subprocess.run(
        [RONDO, "run", "-n", "2", "--", "sh", "-c", train],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=clean_env(),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "rank 1 has other data in" in done.stderr
    assert "17 examples to train on and 2 to test with" in done.stderr
    assert "rank 0 has 18 and 2" in done.stderr


@pytest.mark.skipif(
    not FASHION_MNIST.exists(), reason="needs Debian's dataset-fashion-mnist"
)
def test_fashion_mnist():
    done = rondo_train(
        "mlp", "--steps", 40, "--batch", 128, "-n", 2, data="fashion-mnist"
    )
    assert len(losses(done)) == 40
    assert accuracy(done) > 60


def test_a_strategy_for_one_process_is_refused_in_a_job_of_several():
    done = subprocess.run(
        [RONDO, "run", "-n", "2", "--strategy", "single", "--", RONDO, "train", "mlp"]
        + ["--data", "synthetic", "--steps", "2"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=clean_env(),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "this job has 2 ranks: take ring" in done.stderr

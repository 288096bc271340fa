"""What bench/torch measures, on the ranks of a job: needs PyTorch and rondo.torch.

Each job's ranks have a process group of either backend, and turn from one to the
other every few calls or steps.
"""

import datetime
import functools
import json
import os
import pathlib
import tempfile
import time

import rondo.torch
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch_models
from torch import nn

DDP_TIMES = 12  # as long as a size of all_reduce: a step takes many calls' time


def time_calls(call, count):
    """Seconds per call, from the first rank's start to the last one's end, and those
    that all ranks' threads have computed."""
    dist.barrier()
    computed = time.process_time()
    start = time.perf_counter()  # one clock for all processes of a machine
    for _ in range(count):
        call()
    span = torch.tensor([-start, time.perf_counter()], dtype=torch.float64)
    computed = torch.tensor(time.process_time() - computed, dtype=torch.float64)
    dist.all_reduce(span, dist.ReduceOp.MAX)
    dist.all_reduce(computed)
    return span.sum().item() / count, computed.item() / count


def alternate(calls, seconds, turns):
    """{name: the times of one call in each turn}, as time_calls has them.

    Each has the same share of the seconds, however many calls that is: the ranks'
    different starts are a part of the time, which must be small.
    """
    seen = {name: [] for name in calls}
    share = seconds / turns / len(calls)
    counts = {}
    for name, call in calls.items():
        once = min(time_calls(call, 1)[0], time_calls(call, 4)[0])
        counts[name] = max(1, min(5000, int(share / once)))
    for turn in range(turns):
        names = list(calls)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            seen[name].append(time_calls(calls[name], counts[name]))
    return seen


def reduce_case(groups, size, options):
    tensors = {
        "gloo": torch.ones(size // 4),
        "torch": torch.ones(size // 4),
        "mapped": rondo.torch.empty(size // 4).fill_(1),
    }
    calls = {}
    for name, x in tensors.items():
        x.zero_()  # ones would overflow after a hundred calls
        group = groups["gloo" if name == "gloo" else "rondo"]
        calls[name] = functools.partial(dist.all_reduce, x, group=group)
    return alternate(calls, options.seconds, options.turns)


def overhead_case(groups, size, options):
    """A call, and one of which all the time is PyTorch's own."""
    from torch.testing._internal.distributed import fake_pg  # noqa: F401

    x = rondo.torch.empty(size // 4).zero_()
    calls = {
        name: functools.partial(dist.all_reduce, x, group=group)
        for name, group in (
            ("rondo", groups["rondo"]),
            ("fake", dist.new_group(backend="fake")),
        )
    }
    return alternate(calls, options.seconds / 4, options.turns)


def make_lenet():
    model = torch_models.LeNet(28, 1, (32, 64), 1024, 10)
    return model, torch.randn(32, 1, 28, 28), torch.randint(10, (32,))


def make_resnet():
    model = torch_models.ResNet((3, 4, 6, 3), 64, 10)
    return model, torch.randn(8, 3, 32, 32), torch.randint(10, (8,))


def make_transformer():
    model = torch_models.GPT(2000, 4, 256, 4, 64)
    return model, torch.randint(2000, (4, 64)), torch.randint(2000, (4, 64))


MODELS = {"LeNet": make_lenet, "ResNet-50": make_resnet, "GPT": make_transformer}


def step_of(model, x, y, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), 0.001)

    def step():
        optimizer.zero_grad()
        torch_models.loss(model(x), y).backward()
        optimizer.step()

    return step


def replicated(model, group):
    return nn.parallel.DistributedDataParallel(
        model, process_group=group, gradient_as_bucket_view=True
    )


def meet(group, bucket):
    """Exchanges nothing, but that the ranks end their backward passes together."""
    gradients = bucket.buffer()
    if bucket.is_last():
        work = dist.all_reduce(torch.zeros(1), group=group, async_op=True)
        return work.get_future().then(lambda _: gradients)
    done = torch.futures.Future()
    done.set_result(gradients)
    return done


def silent_step(groups, name):
    """DDP's step but for the gradients' way. The ranks meet in each step, or the time
    that a rank waits for a slower one, whatever the backend, would pass for
    communication: a tenth of the step where a core is now and then another's."""
    model, x, y = MODELS[name]()
    model = replicated(model, groups["gloo"])
    model.register_comm_hook(groups["rondo"], meet)
    return step_of(model, x, y)


def ddp_case(groups, name, options):
    torch.manual_seed(1)
    calls = {"silent": silent_step(groups, name)}
    for backend in ("gloo", "rondo"):
        model, x, y = MODELS[name]()
        calls[backend] = step_of(replicated(model, groups[backend]), x, y)
    return alternate(calls, options.seconds * DDP_TIMES, options.turns)


def horovod_case(groups, name, options):
    """The same with hvd.DistributedOptimizer in place of DDP."""
    torch.manual_seed(1)
    rondo.torch.init()
    calls = {"silent": silent_step(groups, name)}
    model, x, y = MODELS[name]()
    calls["gloo"] = step_of(replicated(model, groups["gloo"]), x, y)
    model, x, y = MODELS[name]()
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    optimizer = rondo.torch.DistributedOptimizer(optimizer, model.named_parameters())
    calls["rondo"] = step_of(model, x, y, optimizer)
    times = alternate(calls, options.seconds * DDP_TIMES, options.turns)
    rondo.torch.shutdown()
    return times


def rank_main(rank, ranks, folder, options, work):
    if options.real_time:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=ranks,
        timeout=datetime.timedelta(seconds=300),
    )
    groups = {"gloo": dist.new_group(backend="gloo")}
    groups["rondo"] = dist.new_group(backend="rondo")
    # Where hvd.init() finds the others.
    os.environ.update(RONDO_RANK=str(rank), RONDO_WORLD_SIZE=str(ranks))
    os.environ["RONDO_STORE"] = f"file://{folder}/horovod"
    measure = {
        "reduce": reduce_case,
        "overhead": overhead_case,
        "ddp": ddp_case,
        "horovod": horovod_case,
    }
    measured = [
        (kind, what, measure[kind](groups, what, options)) for kind, what in work
    ]
    if rank == 0:
        pathlib.Path(folder, "times").write_text(json.dumps(measured))
    dist.destroy_process_group()


def run_job(ranks, options, work):
    with tempfile.TemporaryDirectory(prefix="rondo-bench-") as folder:
        mp.start_processes(
            rank_main, (ranks, folder, options, work), ranks, start_method="fork"
        )
        return json.loads(pathlib.Path(folder, "times").read_text())

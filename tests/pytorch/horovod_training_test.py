"""Training the Horovod way: DistributedOptimizer, broadcasts, SyncBatchNorm."""

import copy
import json
import os
import tempfile
import warnings

import horovod_ranks
import pytest
import rondo.torch as hvd
import torch
from horovod_ranks import raises
from torch import nn


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def batch(step, rank, size, rows=4):
    """This rank's part of a step's batch, or with size 0 the whole."""
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(rows * max(size, 1), 4, generator=generator)
    return x[rank * rows : (rank + 1) * rows] if size else x


def loss_of(model, x):
    return nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))


def same_on_all(model):
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    return all(torch.equal(flat, one) for one in hvd.allgather(flat[None]))


def train(rank, size, steps=3, passes=1, clip=False, **options):
    """Losses aside: whether `size` ranks end where one with the whole batch does."""
    model, alone = network(), network()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    optimizer = hvd.DistributedOptimizer(
        sgd,
        named_parameters=model.named_parameters(),
        backward_passes_per_step=passes,
        **options,
    )
    assert isinstance(optimizer, torch.optim.SGD)
    own = torch.optim.SGD(alone.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        own.zero_grad()
        for more in range(passes):
            loss_of(model, batch(step * 10 + more, rank, size)).backward()
            whole = torch.cat([batch(step * 10 + more, r, size) for r in range(size)])
            loss_of(alone, whole).backward()
        if clip:
            optimizer.synchronize()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            nn.utils.clip_grad_norm_(alone.parameters(), 0.5)
            with optimizer.skip_synchronize():
                optimizer.step()
        else:
            optimizer.step()
        own.step()
    assert same_on_all(model)
    pairs = zip(model.parameters(), alone.parameters(), strict=True)
    return max((a - b).abs().max().item() for a, b in pairs)


def check_equal_to_one_process(rank, size):
    assert train(rank, size) < 1e-6
    assert train(rank, size, passes=3) < 1e-6
    assert train(rank, size, clip=True) < 1e-6
    assert train(rank, size, gradient_predivide_factor=4.0) < 1e-6


def check_groups(rank, size):
    assert train(rank, size, groups=2) < 1e-6
    assert train(rank, size, groups=2, passes=2) < 1e-6
    model = network()
    parameters = list(model.parameters())

    def wrapped(groups):
        sgd = torch.optim.SGD(parameters, lr=0.1)
        return hvd.DistributedOptimizer(sgd, groups=groups)

    optimizer = wrapped([parameters[:3]])
    loss_of(model, batch(0, rank, size)).backward()
    optimizer.step()
    assert same_on_all(model)
    raises(ValueError, "more than one group", wrapped, [parameters[:2], parameters[1:]])
    raises(ValueError, "non-negative", wrapped, -1)
    raises(ValueError, "list of lists", wrapped, "all")
    raises(ValueError, "torch.Tensor", wrapped, [[parameters]])


def check_groups_with_parameters_that_are_frozen(rank, size):
    model = network()
    model[0].requires_grad_(False)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    groups = [list(layer.parameters()) for layer in model]
    optimizer = hvd.DistributedOptimizer(sgd, groups=groups)
    begin = copy.deepcopy(model)
    loss_of(model, batch(0, rank, size)).backward()
    optimizer.step()
    assert torch.equal(begin[0].weight, model[0].weight)
    assert not torch.equal(begin[2].weight, model[2].weight) and same_on_all(model)


def check_compressed(rank, size):
    assert train(rank, size, compression=hvd.Compression.fp16) < 1e-2
    assert train(rank, size, compression=hvd.Compression.bf16, groups=1) < 1e-1


def check_sum(rank, size):
    model = network()
    # Beforehand: what backward() leaves may be reduced by the time it is read.
    loss = model(torch.ones(1, 4)).sum()
    (alone,) = torch.autograd.grad(loss, model[2].bias)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = hvd.DistributedOptimizer(sgd, model.named_parameters(), op=hvd.Sum)
    model(torch.ones(1, 4)).sum().backward()
    optimizer.synchronize()
    assert torch.equal(model[2].bias.grad, alone * size)


def check_adasum_optimizer(rank, size):
    model = network()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = hvd.DistributedOptimizer(
        sgd, named_parameters=model.named_parameters(), op=hvd.Adasum
    )
    before = loss_of(model, batch(0, rank, size)).item()
    for _ in range(8):
        optimizer.zero_grad()
        loss_of(model, batch(0, rank, size)).backward()
        optimizer.step()
    assert same_on_all(model)
    assert loss_of(model, batch(0, rank, size)).item() < before

    def skip():
        with optimizer.skip_synchronize():
            pass

    if size > 1:
        raises(AssertionError, "Adasum", skip)
    else:
        skip()


def check_what_an_optimizer_was_told(rank, size):
    del rank, size
    sgd = torch.optim.SGD(network().parameters(), lr=0.1)
    optimizer = hvd.DistributedOptimizer(sgd, gradient_predivide_factor=2.0)
    assert (optimizer.op, optimizer.process_set) == (
        hvd.Average,
        hvd.global_process_set,
    )
    assert (optimizer.gradient_predivide_factor, optimizer.sparse_as_dense) == (
        2.0,
        False,
    )
    assert optimizer.backward_passes_per_step == 1


def check_unused_parameters(rank, size):
    """Rank 0's pass does not reach the last layer."""
    model = network()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = hvd.DistributedOptimizer(sgd, model.named_parameters())
    x = torch.ones(1, 4)
    (model[0](x) if rank == 0 else model(x)).sum().backward()
    optimizer.step()
    assert same_on_all(model)
    if size > 1:
        assert model[2].bias.grad.item() == pytest.approx((size - 1) / size)


def check_sparse_gradients(rank, size):
    for dense in (False, True):
        table = nn.Embedding(size + 1, 2, sparse=True)
        table.weight.data.zero_()
        sgd = torch.optim.SGD(table.parameters(), lr=1.0)
        optimizer = hvd.DistributedOptimizer(
            sgd, table.named_parameters(), sparse_as_dense=dense
        )
        table(torch.tensor([0, rank + 1])).sum().backward()
        optimizer.step()
        expected = torch.full((size + 1, 2), -1.0 / size)
        expected[0] = -1.0
        assert torch.allclose(table.weight.data, expected), (dense, table.weight)
        assert table.weight.grad.is_sparse


def check_sparse_adam(rank, size):
    """Takes sparse gradients only, however they are reduced."""
    for dense in (False, True):
        table = nn.Embedding(size + 1, 2, sparse=True)
        hvd.broadcast_parameters(table.state_dict(), root_rank=0)
        begin = table.weight.detach().clone()
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SparseAdam(table.parameters()), sparse_as_dense=dense
        )
        table(torch.tensor([rank])).sum().backward()
        optimizer.step()
        moved = (table.weight.detach() != begin).all(1)
        assert moved.tolist() == [True] * size + [False] and same_on_all(table)


def check_sparse_gradients_that_are_missing(rank, size):
    table = nn.Embedding(2, 2, sparse=True)
    table.weight.data.zero_()
    sgd = torch.optim.SGD(table.parameters(), lr=1.0)
    optimizer = hvd.DistributedOptimizer(sgd, table.named_parameters())
    for step in range(2):  # in the second one rank 0's pass does not reach the table
        optimizer.zero_grad()
        if step == 0 or rank > 0 or size == 1:
            table(torch.tensor([1])).sum().backward()
        optimizer.step()
    moved = 2.0 if size == 1 else 1.0 + (size - 1) / size
    assert torch.allclose(table.weight.data[1], torch.full((2,), -moved))
    if size > 1:  # not known to be sparse yet: an error, and at once
        dense = rank == 0
        x = torch.ones(2, 2)
        text = raises(
            hvd.HorovodInternalError,
            "differ in operation",
            hvd.allreduce,
            x if dense else x.to_sparse(),
            name="mixed",
        )
        assert "rank 0 has allreduce, rank 1 has sparse_allreduce" in text


def check_optimizers_of_parts(rank, size):
    """Each reduces its own parameters, though all are named."""
    model = network()
    named = list(model.named_parameters())
    parts = [
        hvd.DistributedOptimizer(torch.optim.SGD(part.parameters(), lr=0.1), named)
        for part in (model[0], model[2])
    ]
    loss_of(model, batch(0, rank, size)).backward()
    for optimizer in parts:
        optimizer.step()
    assert same_on_all(model)
    model = network()
    named = list(model.named_parameters())
    head = torch.optim.SGD(model[2].parameters(), lr=0.1)
    optimizer = hvd.DistributedOptimizer(head, named)
    loss_of(model, batch(0, rank, size)).backward()
    local = model[0].weight.grad.clone()
    optimizer.step()
    assert torch.equal(model[0].weight.grad, local) and same_on_all(model)


def check_a_gradient_that_cannot_be_reduced(rank, size):
    """The others are, and the next step is not disturbed."""
    if size == 1:
        return
    bad = nn.Parameter(torch.ones(2 + (rank == size - 1)))
    good = nn.Parameter(torch.zeros(1))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD([bad, good], lr=0.1),
        [("bad", bad), ("good", good)],
        compression=hvd.Compression.fp16,
    )
    for _ in range(2):
        good.grad = torch.full((1,), float(rank))  # so that it is begun after bad's
        bad.sum().backward()
        raises(hvd.HorovodInternalError, "shape", optimizer.step)
        assert good.grad.item() == (size - 1) / 2
        optimizer.zero_grad()


def check_scheduler_made_before(rank, size):
    model = network()
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(sgd, 1, gamma=0.5)
    optimizer = hvd.DistributedOptimizer(sgd, model.named_parameters())
    loss_of(model, batch(0, rank, size)).backward()
    optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the scheduler has not seen a step
        schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.5 and same_on_all(model)


def check_optimizer_errors(rank, size):
    model = network()
    named = list(model.named_parameters())
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    make = hvd.DistributedOptimizer
    raises(ValueError, "tuples", make, sgd, [p for _, p in named])
    raises(ValueError, "duplicates: a", make, sgd, [("a", p) for _, p in named])
    raises(ValueError, "not named", make, sgd, named[:2])
    factor = {"op": hvd.Sum, "gradient_predivide_factor": 2.0}
    raises(ValueError, "predivide", make, sgd, named, **factor)
    raises(ValueError, "> 0", make, sgd, named, backward_passes_per_step=0)
    optimizer = make(sgd, named)
    loss_of(model, batch(0, rank, size)).backward()
    if size > 1:
        raises(AssertionError, "zero_grad", optimizer.zero_grad)
        loss = loss_of(model, batch(0, rank, size))
        raises(AssertionError, "Increase backward_passes_per_step", loss.backward)
    optimizer.synchronize()
    with pytest.warns(UserWarning, match="skip_synchronize"):
        optimizer.step()
    optimizer.zero_grad()
    assert same_on_all(model)


def check_scheduler_and_hooks(rank, size):
    del rank, size
    model = network()
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    optimizer = hvd.DistributedOptimizer(sgd, model.named_parameters())
    optimizer.load_state_dict(optimizer.state_dict())  # PyTorch wraps step() here
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    calls = []
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    loss_of(model, torch.ones(1, 4)).backward()
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.5 and calls == [1]


def check_broadcast_parameters(rank, size):
    model = network(seed=rank)
    model.register_buffer("count", torch.tensor(rank))
    hvd.broadcast_parameters(model.state_dict(), root_rank=size - 1)
    assert model.count.item() == size - 1 and same_on_all(model)
    for params in (list(model.named_parameters()), model.parameters()):
        hvd.broadcast_parameters(params, 0)
    raises(ValueError, "invalid params", hvd.broadcast_parameters, 3, 0)
    raises(ValueError, "invalid params", hvd.broadcast_parameters, {"a": 3}, 0)


def check_broadcast_optimizer_state(rank, size):
    for kind in (torch.optim.Adam, torch.optim.SGD, torch.optim.RMSprop):
        model = network()
        optimizer = kind(model.parameters(), lr=0.1 * (rank + 1))
        if rank == 0:  # the others have no state yet
            loss_of(model, torch.ones(2, 4)).backward()
            optimizer.step()
        wrapped = hvd.DistributedOptimizer(optimizer, model.named_parameters())
        hvd.broadcast_optimizer_state(wrapped, root_rank=0)
        assert wrapped.param_groups[0]["lr"] == pytest.approx(0.1)
        told = [
            {k: v.tolist() if torch.is_tensor(v) else v for k, v in one.items()}
            for one in wrapped.state_dict()["state"].values()
        ]
        assert all(one == told for one in hvd.allgather_object(told))
    lbfgs = torch.optim.LBFGS(model.parameters())
    raises(ValueError, "LBFGS", hvd.broadcast_optimizer_state, lbfgs, 0)


def check_objects(rank, size):
    thing = {"rank": rank, "list": [1, "two", None]}
    root = size - 1
    assert hvd.broadcast_object(thing, root)["rank"] == root
    assert hvd.broadcast_object(thing, root, name="thing")["list"] == [1, "two", None]
    assert hvd.broadcast_object_fn(0)(thing)["rank"] == 0
    assert [one["rank"] for one in hvd.allgather_object(thing)] == list(range(size))
    assert hvd.allgather_object("x" * rank) == ["x" * r for r in range(size)]


def check_unpicklable(rank, size):
    bad = (lambda: 0) if rank == 0 else 0  # noqa: E731
    for function in (hvd.broadcast_object, hvd.allgather_object):
        try:
            function(bad)
        except hvd.HorovodInternalError as error:
            assert rank > 0 and "rank 0 cannot pickle" in str(error)
        except Exception as error:
            assert rank == 0 and "pickle" in str(error), error
        else:
            raise AssertionError("no error")


def check_sync_batch_norm(rank, size):
    torch.manual_seed(3)
    whole = torch.randn(3 * size, 2, 5, 5) * 3 + 100
    bounds = [3 * r + (r % 2) for r in range(size)] + [3 * size]  # uneven batches
    for affine in (True, False):
        norm = hvd.SyncBatchNorm(2, affine=affine)
        reference = nn.BatchNorm2d(2, affine=affine)
        x = whole[bounds[rank] : bounds[rank + 1]].clone().requires_grad_()
        y = whole.clone().requires_grad_()
        for _ in range(2):
            out, expected = norm(x), reference(y)
        (out**3).sum().backward()
        (expected**3).sum().backward()
        mine = slice(bounds[rank], bounds[rank + 1])
        assert torch.allclose(out, expected[mine], atol=1e-4)
        assert torch.allclose(x.grad, y.grad[mine], atol=2e-3), size
        assert torch.allclose(norm.running_mean, reference.running_mean, atol=1e-4)
        assert torch.allclose(norm.running_var, reference.running_var, atol=1e-3)
        if affine:
            total = hvd.allreduce(norm.weight.grad, op=hvd.Sum)
            assert torch.allclose(total, reference.weight.grad, rtol=1e-3)
        assert torch.allclose(norm.eval()(x), reference.eval()(y)[mine], atol=1e-4)
    # Without running statistics those of the batch count, also in evaluation.
    norm = hvd.SyncBatchNorm(2, track_running_stats=False).eval()
    reference = nn.BatchNorm2d(2, track_running_stats=False).eval()
    assert torch.allclose(norm(x), reference(y)[mine], atol=1e-4)
    averaging = hvd.SyncBatchNorm(2, momentum=None)
    averaging(x.detach())
    assert averaging.num_batches_tracked.item() == 1
    raises(ValueError, "2D", norm, torch.ones(3))


def check_timeline(rank, size):
    with tempfile.TemporaryDirectory(prefix="rondo-hvd-") as folder:
        path = os.path.join(folder, "trace.json")
        hvd.start_timeline(path, mark_cycles=True)
        raises(ValueError, "stop_timeline", hvd.start_timeline, path)
        hvd.allreduce(torch.ones(2), name="grad")
        hvd.stop_timeline()
        with open(path if rank == 0 else f"{path}.{rank}") as file:
            events = json.load(file)
        phases = [event.get("name") for event in events if event.get("ph") == "B"]
        assert phases == ["NEGOTIATE_ALLREDUCE", "ALLREDUCE"], events
        ends = [event for event in events if event.get("ph") == "E"]
        assert len(ends) == 2 and ends[0]["ts"] <= ends[1]["ts"]
        hvd.allreduce(torch.ones(2))  # nothing is written now
        hvd.barrier()


def check_copies_of_a_wrapped_optimizer(rank, size):
    """The optimizer that was wrapped keeps its state together with the wrapper."""
    del rank, size
    model = network()
    adam = torch.optim.Adam(model.parameters())
    optimizer = hvd.DistributedOptimizer(adam, model.named_parameters())
    loss_of(model, torch.ones(1, 4)).backward()
    optimizer.step()
    assert len(copy.deepcopy(adam.state_dict())["state"]) == 4


@pytest.fixture(scope="module", params=[1, 2, 4])
def ranks(request):
    return horovod_ranks.Checks(request.param, __name__)


@pytest.mark.parametrize("check", horovod_ranks.names(__name__))
def test(ranks, check):
    ranks.verify(check)

"""DDP, FSDP2 and DistributedSampler as they are."""

import pytest
import rondo.torch
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch_ranks import run


def _model():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(8, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 1000), nn.Tanh()
    ).double()


def _batches(steps, count):
    generator = torch.Generator().manual_seed(7)
    return torch.randn(
        steps, count, 8, generator=generator, dtype=torch.float64
    ), torch.randn(steps, count, 1000, generator=generator, dtype=torch.float64)


def _train(model, steps, rank, size):
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for x, y in zip(*_batches(steps, 8), strict=True):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rank::size]), y[rank::size])
        loss.backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


def _ddp(rank, size, options):
    got = _train(DistributedDataParallel(_model(), **options), 6, rank, size)
    expected = _train(_model(), 6, 0, 1)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b)
    # Replicas are equal, bit by bit.
    flat = torch.cat([p.flatten() for p in got])
    every = torch.empty(size, flat.numel(), dtype=flat.dtype)
    dist.all_gather_into_tensor(every, flat)
    assert all(torch.equal(one, flat) for one in every)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize(
    "options",
    [{}, {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.01}],
    ids=["plain", "views"],
)
def test_ddp_equals_one_process(size, options):
    run(size, _ddp, options)


def _buckets(rank, size):
    seen = []

    def hook(state, bucket):
        seen.append(rondo.torch.is_mapped(bucket.buffer()))
        work = dist.all_reduce(bucket.buffer().div_(size), async_op=True)
        return work.get_future().then(lambda future: future.value()[0])

    model = DistributedDataParallel(_model())
    model.register_comm_hook(None, hook)
    for _ in range(3):
        model(torch.randn(2, 8, dtype=torch.float64)).sum().backward()
    assert len(seen) >= 3 and all(seen), seen


def test_ddp_buckets_are_mapped():
    run(2, _buckets)


def _sparse_ddp(rank, size):
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.EmbeddingBag(10, 4, mode="sum", sparse=True))
    model(torch.tensor([[rank, 5]])).sum().backward()
    grad = model.module.weight.grad.to_dense()
    assert grad[5, 0] == 1 and grad[rank, 0] == 1 / size


def test_ddp_with_sparse_gradients():
    run(2, _sparse_ddp)


def _fsdp(rank, size):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (size,))
    model = _model()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    got = _train(model, 4, rank, size)
    expected = _train(_model(), 4, 0, 1)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.full_tensor(), b)


@pytest.mark.parametrize("size", [2, 4])
def test_fsdp2_equals_one_process(size):
    run(size, _fsdp)


def _sampler(rank, size):
    data = torch.utils.data.TensorDataset(torch.arange(10 * size))
    sampler = torch.utils.data.DistributedSampler(data, seed=3)
    seen = []
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=5, sampler=sampler):
        seen += batch.tolist()
    every = [None] * size
    dist.all_gather_object(every, seen)
    assert sorted(sum(every, [])) == list(range(10 * size))


def test_distributed_sampler():
    run(4, _sampler)


def _join(rank, size):
    from torch.distributed.algorithms.join import Join

    model = DistributedDataParallel(_model())
    with Join([model]):
        for _ in range(3 + rank):
            model(torch.randn(2, 8, dtype=torch.float64)).sum().backward()


def test_uneven_inputs_with_join():
    run(2, _join)

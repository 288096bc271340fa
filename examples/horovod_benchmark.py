"""A synthetic benchmark, the Horovod way: pictures per second on random data.

rondo run -n 2 -- python examples/horovod_benchmark.py --num-iters 3
"""

import argparse
import timeit

import rondo.torch as hvd
import torch
import torch.nn.functional as F
from torch import nn, optim


def network(width):
    def block(inputs, outputs):
        convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        return convolution, nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)

    return nn.Sequential(
        *block(3, width),
        *block(width, 2 * width),
        *block(2 * width, 4 * width),
        nn.Flatten(),
        nn.Linear(4 * width * 16, 10),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--num-warmup-batches", type=int, default=2)
    parser.add_argument("--num-batches-per-iter", type=int, default=5)
    parser.add_argument("--num-iters", type=int, default=3)
    parser.add_argument("--fp16-allreduce", action="store_true")
    args = parser.parse_args()

    hvd.init()
    model = network(args.width)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    optimizer = hvd.DistributedOptimizer(
        optimizer,
        named_parameters=model.named_parameters(),
        compression=hvd.Compression.fp16
        if args.fp16_allreduce
        else hvd.Compression.none,
    )
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    pictures = torch.randn(args.batch_size, 3, 32, 32)
    labels = torch.randint(10, (args.batch_size,))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(pictures), labels).backward()
        optimizer.step()

    timeit.timeit(step, number=args.num_warmup_batches)
    rates = []
    for _ in range(args.num_iters):
        seconds = timeit.timeit(step, number=args.num_batches_per_iter)
        rates.append(args.batch_size * args.num_batches_per_iter / seconds)
    total = hvd.allreduce(torch.tensor(rates), op=hvd.Sum, name="rates")
    if hvd.rank() == 0:
        print(
            f"{total.mean():.1f} pictures/s on {hvd.size()} ranks, "
            f"{sum(rates) / len(rates):.1f} on this one",
            flush=True,
        )


if __name__ == "__main__":
    main()

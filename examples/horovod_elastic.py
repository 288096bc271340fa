"""Elastic training, the Horovod way: goes on when ranks are lost.

    rondo run -n 4 --min-ranks 2 -- python examples/horovod_elastic.py

Kill one of the ranks (kill -9 PID): the others go back to the last commit, divide
what is left of the epoch among themselves, and train on.
"""

import argparse
import os
import signal

import rondo.torch as hvd
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


def say(text):
    # One write, so that lines of several ranks do not mix.
    os.write(1, f"{text}\n".encode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--samples", type=int, default=480)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--kill", type=int, help="a rank that kills itself, for tests")
    args = parser.parse_args()

    hvd.init()
    first = hvd.rank()
    inputs = torch.randn(args.samples, 8, generator=torch.Generator().manual_seed(0))
    data = TensorDataset(inputs, inputs.sum(1, keepdim=True))
    sampler = hvd.elastic.ElasticSampler(data)
    torch.manual_seed(first)  # sync() gives all ranks rank 0's
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = optim.SGD(model.parameters(), lr=args.lr * hvd.size(), momentum=0.9)
    optimizer = hvd.DistributedOptimizer(
        optimizer, named_parameters=model.named_parameters()
    )

    def scale_again():
        for group in optimizer.param_groups:
            group["lr"] = args.lr * hvd.size()

    @hvd.elastic.run
    def train(state):
        while state.epoch < args.epochs:
            for number, (x, y) in enumerate(DataLoader(data, 10, sampler=sampler)):
                optimizer.zero_grad()
                loss = F.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                sampler.record_batch(number, 10)
                state.batches += 1
                if state.batches % 4 == 0:
                    state.commit()
                if first == args.kill and state.batches == 6:
                    os.kill(os.getpid(), signal.SIGKILL)
            if hvd.rank() == 0:
                say(f"epoch {state.epoch}: loss {loss:.4f} on {hvd.size()} ranks")
            state.epoch += 1
            sampler.set_epoch(state.epoch)
            state.commit()

    state = hvd.elastic.TorchState(
        model=model, optimizer=optimizer, sampler=sampler, epoch=0, batches=0
    )
    state.register_reset_callbacks([scale_again])
    train(state)
    digest = sum(p.detach().double().sum().item() for p in model.parameters())
    say(f"rank {first} is rank {hvd.rank()} of {hvd.size()}: {digest:.12f}")


if __name__ == "__main__":
    main()

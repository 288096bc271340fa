"""A Horovod script: the only line of Rondo's is the import.

    rondo run -n 4 -- python examples/horovod_mnist.py --epochs 2

Trains a small network on pictures of digits that it draws itself, so that it needs
no download, and ends with the accuracy over all ranks' test data.
"""

import argparse

import rondo.torch as hvd
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.fc1 = nn.Linear(8 * 5 * 5, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x.flatten(1)))), dim=1)


def digits(count, seed):
    """Pictures of 12 x 12: a pattern for each digit, and noise."""
    patterns = torch.randn(10, 1, 12, 12, generator=torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=generator)
    noise = torch.randn(count, 1, 12, 12, generator=generator)
    return TensorDataset(patterns[labels] + 0.5 * noise, labels)


def loader_of(data, batch_size):
    sampler = DistributedSampler(data, num_replicas=hvd.size(), rank=hvd.rank())
    return DataLoader(data, batch_size=batch_size, sampler=sampler), sampler


def train(model, optimizer, loader, epoch):
    model.train()
    for batch, (pictures, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(pictures), labels)
        loss.backward()
        optimizer.step()
        if batch % 10 == 0 and hvd.rank() == 0:
            print(f"epoch {epoch} batch {batch}: loss {loss.item():.4f}", flush=True)


@torch.no_grad()
def test(model, loader):
    model.eval()
    right = torch.tensor(0.0)
    for pictures, labels in loader:
        right += (model(pictures).argmax(1) == labels).sum()
    right /= len(loader.sampler)
    return hvd.allreduce(right, name="accuracy").item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--fp16-allreduce", action="store_true")
    parser.add_argument("--use-adasum", action="store_true")
    args = parser.parse_args()

    hvd.init()
    torch.manual_seed(42)
    loader, sampler = loader_of(digits(args.samples, seed=2), args.batch_size)
    test_loader, _ = loader_of(digits(400, seed=3), 100)

    model = Net()
    scale = 1 if args.use_adasum else hvd.size()
    optimizer = optim.SGD(model.parameters(), lr=args.lr * scale, momentum=0.9)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    compression = hvd.Compression.fp16 if args.fp16_allreduce else hvd.Compression.none
    optimizer = hvd.DistributedOptimizer(
        optimizer,
        named_parameters=model.named_parameters(),
        compression=compression,
        op=hvd.Adasum if args.use_adasum else hvd.Average,
    )
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train(model, optimizer, loader, epoch)
        accuracy = test(model, test_loader)
        if hvd.rank() == 0:
            print(f"epoch {epoch}: accuracy {accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()

"""Trains a model on all ranks of a job, on data made up from a seed.

rondo run -n 4 --strategy ring -- python examples/train_ring.py [--model lenet]
rondo run -n 4 --servers 2 --strategy ps -- python examples/train_ring.py

The lines marked <- are all that is distributed. Each rank takes its share of the
same batch, so what is printed does not depend on how many ranks there are.
"""

import argparse

import numpy as np

import rondo as rd
from rondo import models


def perceptron():
    x = rd.placeholder(rd.float32, [None, 20])
    return x, models.MLP(units=(64, 32))(x), (20,)


def lenet():
    x = rd.placeholder(rd.float32, [None, 28, 28, 1])
    return x, models.LeNet(filters=(4, 8), units=16)(x), (28, 28, 1)


def embedding():
    """Words of which each has a row of a table; a batch uses few of them."""
    x = rd.placeholder(rd.int64, [None, 5])
    table = rd.get_variable("table", [1000, 8])
    return x, rd.layers.dense(rd.reduce_mean(rd.gather(table, x), 1), 10), (5,)


OPTIMIZERS = {
    "sgd": lambda: rd.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: rd.train.MomentumOptimizer(0.05, 0.9),
    "adam": lambda: rd.train.AdamOptimizer(0.01),
}
MODELS = {"mlp": perceptron, "lenet": lenet, "embedding": embedding}


def batches(shape, dtype, batch):
    random = np.random.default_rng(7)
    while True:
        labels = random.integers(0, 10, batch)
        if dtype == np.int64:
            words = random.integers(0, 100, (batch, *shape))
            yield 100 * labels[:, None] + words, labels
        else:
            means = labels.reshape(-1, *[1] * len(shape)) / 5 - 1
            noise = random.normal(0, 0.3, (batch, *shape))
            yield (means + noise).astype(np.float32), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="mlp")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="momentum")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64, help="of all ranks together")
    parser.add_argument("--checkpoint", help="a folder to keep them in")
    args = parser.parse_args()

    rd.set_random_seed(1)
    x, logits, shape = MODELS[args.model]()
    y = rd.placeholder(rd.int64, [None])
    loss = models.loss(y, logits)
    strategy = rd.train.Strategy.from_env()  # <-
    opt = strategy.distribute(OPTIMIZERS[args.optimizer]())  # <-
    train_op = opt.minimize(loss, rd.train.get_or_create_global_step())

    data = batches(shape, x.dtype.as_numpy_dtype, args.batch)
    test_x, test_y = next(data)
    rank, size = strategy.rank, strategy.size
    with rd.train.MonitoredTrainingSession(checkpoint_dir=args.checkpoint) as session:
        for step in range(args.steps):
            inputs, labels = (part[rank::size] for part in next(data))
            session.run(train_op, {x: inputs, y: labels})
            now = session.run(loss, {x: test_x, y: test_y})
            if rank == 0:
                print(f"step {step}: loss {now:.6f}", flush=True)


if __name__ == "__main__":
    main()

"""Trains LeNet on Fashion-MNIST (Debian's package dataset-fashion-mnist).

python examples/lenet.py [--epochs N] [--data FOLDER]

Momentum, with a rate that falls to 0 along half a cosine, and dropout. Five epochs
end above 90 % of the test images.
"""

import argparse
import math
import pathlib
import time

import numpy as np
from fashion_mnist import FOLDER, load

import rondo as rd
from rondo import models


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--dropout", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="0: one per core")
    parser.add_argument("--data", type=pathlib.Path, default=FOLDER)
    args = parser.parse_args()
    train_images, train_labels = load(args.data, "train")
    test_images, test_labels = load(args.data, "t10k")

    rd.set_random_seed(args.seed)
    images = rd.placeholder(rd.float32, [None, 28, 28, 1], name="images")
    labels = rd.placeholder(rd.int64, [None], name="labels")
    rate = rd.placeholder(rd.float32, [], name="rate")
    model = models.LeNet(dropout=args.dropout)
    loss = models.loss(labels, model(images, training=True))
    train = models.train_op(rd.train.MomentumOptimizer(rate, 0.9), loss)
    right = rd.reduce_mean(
        rd.cast(rd.equal(rd.argmax(model(images), 1), labels), rd.float32)
    )

    order = np.random.default_rng(args.seed)
    steps = len(train_images) // args.batch
    config = rd.ConfigProto(intra_op_parallelism_threads=args.threads)
    with rd.Session(config=config) as session:
        session.run(rd.global_variables_initializer())
        for epoch in range(args.epochs):
            started = time.monotonic()
            rows = order.permutation(len(train_images))
            total = 0.0
            for step in range(steps):
                batch = rows[step * args.batch : (step + 1) * args.batch]
                done = (epoch * steps + step) / (args.epochs * steps)
                feeds = {
                    images: train_images[batch],
                    labels: train_labels[batch],
                    rate: args.rate * 0.5 * (1 + math.cos(math.pi * done)),
                }
                total += session.run([loss, train], feeds)[0]
            seconds = time.monotonic() - started
            parts = [
                session.run(
                    right,
                    {
                        images: test_images[i : i + 1000],
                        labels: test_labels[i : i + 1000],
                    },
                )
                for i in range(0, len(test_images), 1000)
            ]
            print(
                f"epoch {epoch + 1}: loss {total / steps:.4f}, "
                f"test accuracy {100 * np.mean(parts):.2f} %, "
                f"{steps * args.batch / seconds:.0f} images/s",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Trains LeNet on Fashion-MNIST (Debian's package dataset-fashion-mnist).

python examples/lenet.py [--epochs N] [--data FOLDER]
"""

import argparse
import gzip
import pathlib
import time

import numpy as np

import rondo as rd


def load(folder, name):
    """One of the four files, images as floats from 0 to 1 and labels as i64."""
    with gzip.open(folder / f"{name}.gz") as file:
        data = np.frombuffer(file.read(), np.uint8)
    if "images" in name:
        return data[16:].reshape(-1, 28, 28, 1).astype(np.float32) / 255
    return data[8:].astype(np.int64)


def lenet(images):
    x = rd.layers.conv2d(images, 32, 5, padding="same", activation=rd.nn.relu)
    x = rd.layers.max_pooling2d(x, 2, 2)
    x = rd.layers.conv2d(x, 64, 5, padding="same", activation=rd.nn.relu)
    x = rd.layers.max_pooling2d(x, 2, 2)
    x = rd.layers.dense(rd.layers.flatten(x), 128, activation=rd.nn.relu)
    return rd.layers.dense(x, 10)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--data",
        type=pathlib.Path,
        default=pathlib.Path("/usr/share/datasets/fashion-mnist"),
    )
    args = parser.parse_args()
    train_images = load(args.data, "train-images-idx3-ubyte")
    train_labels = load(args.data, "train-labels-idx1-ubyte")
    test_images = load(args.data, "t10k-images-idx3-ubyte")
    test_labels = load(args.data, "t10k-labels-idx1-ubyte")

    rd.set_random_seed(args.seed)
    images = rd.placeholder(rd.float32, [None, 28, 28, 1], name="images")
    labels = rd.placeholder(rd.int64, [None], name="labels")
    logits = lenet(images)
    loss = rd.reduce_mean(
        rd.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    right = rd.reduce_mean(rd.cast(rd.equal(rd.argmax(logits, 1), labels), rd.float32))
    rate = rd.placeholder(rd.float32, [], name="rate")
    train = rd.train.MomentumOptimizer(rate, 0.9).minimize(loss)

    order = np.random.default_rng(args.seed)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        for epoch in range(args.epochs):
            started = time.monotonic()
            rows = order.permutation(len(train_images))
            total = 0.0
            steps = len(rows) // args.batch
            for step in range(steps):
                batch = rows[step * args.batch : (step + 1) * args.batch]
                _, now = session.run(
                    [train, loss],
                    {
                        images: train_images[batch],
                        labels: train_labels[batch],
                        rate: 0.02 * 0.6**epoch,
                    },
                )
                total += now
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
                f"{steps * args.batch / seconds:.0f} images/s"
            )


if __name__ == "__main__":
    main()

"""Model parallel: the convolutions on one worker, the other layers on a second, and
batches cut into micro-batches, so that both compute at once.

    rondo server --cluster "worker=h1:2222,h2:2222" --job worker --task 0
    rondo server --cluster … --job worker --task 1
    python stages.py --cluster …

Without --cluster the stages are two devices of this process.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import averaged, parse, train  # noqa: E402

import rondo as rd  # noqa: E402

MICRO_BATCHES = 4


class TwoStages:
    """A small convolutional network over two devices."""

    def __init__(self, first, second):
        self.first, self.second = first, second

    def __call__(self, images):
        with rd.variable_scope("net", reuse=rd.AUTO_REUSE):
            with rd.device(self.first):
                x = images
                for i, filters in enumerate((32, 64)):
                    x = rd.layers.conv2d(
                        x,
                        filters,
                        5,
                        padding="same",
                        activation=rd.nn.relu,
                        name=f"conv{i}",
                    )
                    x = rd.layers.max_pooling2d(x, 2, 2)
            with rd.device(self.second):
                x = rd.layers.dense(rd.layers.flatten(x), 128, rd.nn.relu, name="dense")
                return rd.layers.dense(x, 10, name="logits")


def main():
    args, cluster, data = parse(__doc__)
    target, config = "", rd.ConfigProto(device_count={"CPU": 2})
    devices = ["/cpu:0", "/cpu:1"]
    if cluster:
        target, config = f"grpc://{cluster.task_address('worker', 0)}", None
        devices = ["/job:worker/task:0", "/job:worker/task:1"]
    x = rd.placeholder(rd.float32, [None, 28, 28, 1])
    y = rd.placeholder(rd.int64, [None])
    model, optimizer = TwoStages(*devices), rd.train.MomentumOptimizer(args.rate, 0.9)
    parts = zip(rd.split(x, MICRO_BATCHES), rd.split(y, MICRO_BATCHES), strict=True)
    losses, gradients = [], []
    for part, its_labels in parts:
        logits = model(part)
        with rd.device(devices[1]):
            losses.append(rd.losses.sparse_softmax_cross_entropy(its_labels, logits))
        gradients.append(
            optimizer.compute_gradients(losses[-1], rd.trainable_variables())
        )
    loss = rd.add_n(losses) / float(MICRO_BATCHES)
    update = optimizer.apply_gradients(averaged(gradients))

    with rd.Session(target, config=config) as session:
        train(session, args, data, (x, y), (loss, update), MICRO_BATCHES)


if __name__ == "__main__":
    main()

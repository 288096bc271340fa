"""What the programs of this folder have in common."""

import argparse
import pathlib

import numpy as np
from fashion_mnist import FOLDER, load

import rondo as rd


def parse(description, tasks=False):
    """(options, the cluster or None, (images, labels)); with `tasks` the program is
    one of the cluster's."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cluster", required=tasks, help='"ps=h0:1;worker=h1:1,h2:1"')
    if tasks:
        parser.add_argument("--job", required=True, choices=["ps", "worker"])
        parser.add_argument("--task", type=int, default=0)
        parser.add_argument("--sync", action="store_true")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--every", type=int, default=50, help="steps between lines")
    parser.add_argument("--data", type=pathlib.Path, default=FOLDER)
    args = parser.parse_args()
    cluster = rd.train.ClusterSpec(_jobs(args.cluster)) if args.cluster else None
    computes = not tasks or args.job == "worker"
    return args, cluster, load(args.data, "train") if computes else (None, None)


def _jobs(text):
    return {
        job: tasks.split(",")
        for job, _, tasks in (part.partition("=") for part in text.split(";"))
    }


def averaged(parts):
    """[(gradient, variable)] of all parts of a batch as one."""
    return [
        (rd.add_n([gradient for gradient, _ in pairs]) / float(len(pairs)), pairs[0][1])
        for pairs in zip(*parts, strict=True)
    ]


def train(session, args, data, feeds, ops, parts):
    """Makes steps with `feeds` (images and labels) and `ops` (loss and update), of
    batches that can be cut into `parts`."""
    images, labels = data
    order = np.random.default_rng(0)
    session.run(rd.global_variables_initializer())
    for step in range(1, args.steps + 1):
        batch = order.choice(len(images), args.batch // parts * parts)
        values = (images[batch], labels[batch])
        seen, _ = session.run(ops, dict(zip(feeds, values, strict=True)))
        if step % args.every == 0 or step == args.steps:
            print(f"step {step}: loss {seen:.4f}", flush=True)

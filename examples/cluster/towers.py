"""Data parallel, in one graph: a tower of the model on each worker, their gradients
averaged, the variables on parameter servers.

    rondo server --cluster "ps=h0:2222;worker=h1:2222,h2:2222" --job ps --task 0
    rondo server --cluster … --job worker --task 0
    rondo server --cluster … --job worker --task 1
    python towers.py --cluster …

Without --cluster the towers are on two devices of this process.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import averaged, parse, train  # noqa: E402

import rondo as rd  # noqa: E402


def main():
    args, cluster, data = parse(__doc__)
    target, config = "", rd.ConfigProto(device_count={"CPU": 2})
    setters = ["/cpu:0", "/cpu:1"]
    if cluster:
        target, config = f"grpc://{cluster.task_address('worker', 0)}", None
        setters = [
            rd.train.replica_device_setter(
                cluster=cluster, worker_device=f"/job:worker/task:{i}"
            )
            for i in range(cluster.num_tasks("worker"))
        ]
    x = rd.placeholder(rd.float32, [None, 28, 28, 1])
    y = rd.placeholder(rd.int64, [None])
    model, optimizer = rd.models.LeNet(), rd.train.MomentumOptimizer(args.rate, 0.9)
    parts = zip(rd.split(x, len(setters)), rd.split(y, len(setters)), strict=True)
    losses, towers = [], []
    for setter, (part, its_labels) in zip(setters, parts, strict=True):
        with rd.device(setter):
            losses.append(
                rd.losses.sparse_softmax_cross_entropy(its_labels, model(part))
            )
            towers.append(
                optimizer.compute_gradients(losses[-1], rd.trainable_variables())
            )
    with rd.device(setters[0]):
        loss = rd.add_n(losses) / float(len(losses))
        update = optimizer.apply_gradients(averaged(towers))

    with rd.Session(target, config=config) as session:
        train(session, args, data, (x, y), (loss, update), len(setters))


if __name__ == "__main__":
    main()

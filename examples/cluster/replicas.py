"""Data parallel, between graphs: every worker has its own client and graph, and
shares the variables, which are on parameter servers.

    python replicas.py --cluster "ps=h0:2222;worker=h1:2222,h2:2222" --job ps
    python replicas.py --cluster … --job worker --task 0
    python replicas.py --cluster … --job worker --task 1

Each worker applies its gradients as soon as it has them; with --sync all wait for
each other, and the average of their gradients is applied.
"""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import parse  # noqa: E402

import rondo as rd  # noqa: E402


def main():
    args, cluster, (images, labels) = parse(__doc__, tasks=True)
    server = rd.train.Server(cluster, job_name=args.job, task_index=args.task)
    if args.job == "ps":
        server.join()
        return
    workers = cluster.num_tasks("worker")
    setter = rd.train.replica_device_setter(
        cluster=cluster, worker_device=f"/job:worker/task:{args.task}"
    )
    with rd.device(setter):
        x = rd.placeholder(rd.float32, [None, 28, 28, 1])
        y = rd.placeholder(rd.int64, [None])
        loss = rd.losses.sparse_softmax_cross_entropy(y, rd.models.LeNet()(x))
        step = rd.train.get_or_create_global_step()
        # Without momentum, which would amplify gradients that come late.
        optimizer = rd.train.GradientDescentOptimizer(5 * args.rate)
        hooks = [rd.train.StopAtStepHook(last_step=args.steps)]
        if args.sync:
            optimizer = rd.train.SyncReplicasOptimizer(optimizer, workers)
        train = optimizer.minimize(loss, global_step=step)
        if args.sync:
            hooks.append(optimizer.make_session_run_hook(args.task == 0))

    # Every worker has its own share of the images.
    mine = np.arange(args.task, len(images), workers)
    order = np.random.default_rng(args.task)
    with rd.train.MonitoredTrainingSession(
        server.target, is_chief=args.task == 0, hooks=hooks
    ) as session:
        while not session.should_stop():
            batch = order.choice(mine, args.batch)
            feeds = {x: images[batch], y: labels[batch]}
            now, seen, _ = session.run([step, loss, train], feeds)
            if now % args.every == 0:
                print(f"step {now}: loss {seen:.4f}", flush=True)
    print(f"worker {args.task}: done, loss {seen:.4f}", flush=True)


if __name__ == "__main__":
    main()

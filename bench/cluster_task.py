"""One process of bench/cluster: a task of a cluster, with Rondo or TensorFlow.

The same program for both: a parameter server waits for its end; a worker builds
its graph, and for each number that it reads makes as many steps and answers with
their seconds. As "memcpy" it is no task, and its steps copy as many bytes as those of
a case "transfer" move.

    cluster_task.py LIBRARY CASE CLUSTER JOB TASK
"""

import ctypes
import json
import sys
import time

import numpy as np

LIBRARY, CASE, CLUSTER, JOB, TASK = sys.argv[1:]
TASK = int(TASK)
if LIBRARY == "rondo":
    import rondo.tf1 as tf
elif LIBRARY == "tensorflow":
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()

DENSE_BYTES = 100_000_000
BATCH = 64


def weights(shape, name):
    start = tf.truncated_normal(shape, stddev=0.1, seed=1)
    return tf.Variable(start, name=name)


def mlp(x):
    hidden = x
    for i, (wide, high) in enumerate([(784, 256), (256, 128), (128, 10)]):
        hidden = tf.matmul(hidden, weights([wide, high], f"w{i}"))
        hidden += tf.Variable(tf.zeros([high]), name=f"b{i}")
        if high != 10:
            hidden = tf.nn.relu(hidden)
    return hidden


def lenet(x):
    x = tf.reshape(x, [-1, 28, 28, 1])
    for i, (channels, filters) in enumerate([(1, 32), (32, 64)]):
        kernel = weights([5, 5, channels, filters], f"kernel{i}")
        x = tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME")
        x = tf.nn.relu(x + tf.Variable(tf.zeros([filters]), name=f"bias{i}"))
        x = tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    x = tf.reshape(x, [-1, 7 * 7 * 64])
    for i, (wide, high) in enumerate([(7 * 7 * 64, 512), (512, 10)]):
        x = tf.matmul(x, weights([wide, high], f"dense{i}"))
        x += tf.Variable(tf.zeros([high]), name=f"dense_bias{i}")
        if high != 10:
            x = tf.nn.relu(x)
    return x


def null_step():
    counter = tf.Variable(0.0, name="counter")
    return counter.assign_add(1.0).op, {}


def dense_step():
    """Pulls a variable, computes as much on the worker, and pushes it."""
    variable = tf.Variable(tf.zeros([DENSE_BYTES // 4]), name="variable")
    return variable.assign_sub(variable * 0.5).op, {}


def transfer_bytes():
    return int(CASE.partition("-")[2].removesuffix("M")) * 1_000_000


def transfer_step():
    """Has a variable of another task here, and does nothing with it."""
    variable = tf.Variable(tf.ones([transfer_bytes() // 4]), name="variable")
    return tf.identity(variable).op, {}


def divided_step(servers):
    """The same with as many variables as there are servers."""
    share = DENSE_BYTES // 4 // servers
    variables = [
        tf.Variable(tf.zeros([share]), name=f"variable{i}") for i in range(servers)
    ]
    return tf.group(*(v.assign_sub(v * 0.5) for v in variables)), {}


def training_step(model, workers, synchronous):
    """(train_op, feeds, hooks)."""
    step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32, [None, 784])
    y = tf.placeholder(tf.int64, [None])
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=model(x))
    )
    optimizer = tf.train.GradientDescentOptimizer(0.01)
    hooks = []
    if synchronous:
        optimizer = tf.train.SyncReplicasOptimizer(
            optimizer, replicas_to_aggregate=workers, total_num_replicas=workers
        )
    train = optimizer.minimize(loss, global_step=step)
    if synchronous:
        hooks.append(optimizer.make_session_run_hook(TASK == 0))
    rng = np.random.default_rng(TASK)
    feeds = {
        x: rng.random((BATCH, 784), dtype=np.float32),
        y: rng.integers(0, 10, BATCH),
    }
    return train, feeds, hooks


def build(cluster):
    name, _, mode = CASE.partition("-")
    if name == "null":
        return (*null_step(), [])
    if name == "dense":
        return (*dense_step(), [])
    if name == "transfer":
        return (*transfer_step(), [])
    if name == "kv":
        return (*divided_step(cluster.num_tasks("ps")), [])
    workers = cluster.num_tasks("worker")
    return training_step({"mlp": mlp, "lenet": lenet}[name], workers, mode == "sync")


def serve(step, *args):
    print("ready", flush=True)
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            began = time.perf_counter()
            step(*args)
            seconds.append(time.perf_counter() - began)
        print(json.dumps(seconds), flush=True)


def serve_copies():
    source = np.ones(transfer_bytes(), np.uint8)
    target = np.zeros(transfer_bytes(), np.uint8)
    serve(ctypes.memmove, target.ctypes.data, source.ctypes.data, source.nbytes)


def main():
    if LIBRARY == "memcpy":
        if JOB == "worker":
            serve_copies()
        return
    cluster = tf.train.ClusterSpec(json.loads(CLUSTER))
    config = tf.ConfigProto(
        intra_op_parallelism_threads=1, inter_op_parallelism_threads=2
    )
    server = tf.train.Server(cluster, job_name=JOB, task_index=TASK, config=config)
    if JOB == "ps":
        sys.stdin.read()  # until the driver closes it
        return
    here = f"/job:worker/task:{TASK}"
    setter = tf.train.replica_device_setter(worker_device=here, cluster=cluster)
    with tf.device(setter):
        op, feeds, hooks = build(cluster)
    with tf.train.MonitoredTrainingSession(
        master=server.target, is_chief=TASK == 0, hooks=hooks, config=config
    ) as session:
        session.run(op, feeds)
        serve(session.run, op, feeds)


main()

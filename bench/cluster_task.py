"""One task of bench/cluster: the same program for Rondo and TensorFlow."""

import importlib
import json
import sys
import time


def null_step(tf):
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        return v, tf.assign_add(v, 1.0).op


def dense_step(tf, task):
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", [25_000_000], initializer=tf.zeros_initializer())
    with tf.device(f"/job:worker/task:{task}"):
        update = w * 0.001
    with tf.device("/job:ps/task:0"):
        return w, tf.assign_sub(w, update).op


def main():
    what = json.loads(sys.argv[1])
    tf = importlib.import_module(what["framework"])
    if hasattr(tf, "disable_v2_behavior"):
        tf.disable_v2_behavior()
    task = what["task"]
    server = tf.train.Server(
        tf.train.ClusterSpec(what["cluster"]), job_name=what["job"], task_index=task
    )
    if what["job"] == "ps":
        server.join()
        return
    _, step = null_step(tf) if what["case"] == "null" else dense_step(tf, task)
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        run = session.make_callable(step)
        # Half a second to warm up, during which the others come too.
        begin = time.perf_counter()
        while time.perf_counter() - begin < 0.5:
            run()
        steps, begin = 0, time.perf_counter()
        while (spent := time.perf_counter() - begin) < what["seconds"]:
            run()
            steps += 1
    print(steps / spent, flush=True)


if __name__ == "__main__":
    main()

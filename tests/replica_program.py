"""A worker of between-graph training that stops where a test tells it to.

It says "at PLACE STEP" and waits for a line of its input:

    init     while the variables are initialised
    run      within a step, before its gradients are there
    between  after a step
    save     before a checkpoint is written

and "done at STEP with loss LOSS" at the end.
"""

import argparse
import json
import logging
import sys

import numpy as np

import rondo as rd

TRUTH = np.float32([[1], [-2], [3]])


class Stops:
    """Each place once, at its step or after it."""

    def __init__(self, places):
        self._left = dict(places)

    def at(self, place, step):
        if place in self._left and step >= self._left[place]:
            del self._left[place]
            print(f"at {place} {step}", flush=True)
            sys.stdin.readline()


class Model:
    def __init__(self, args, stops):
        self.x = rd.placeholder(rd.float32, [None, 3])
        self.y = rd.placeholder(rd.float32, [None, 1])
        self.step = rd.train.get_or_create_global_step()

        def start():
            stops.at("init", 0)
            return np.zeros((3, 1), np.float32)

        def within(step, x):
            stops.at("run", int(step))
            return x

        start = rd.reshape(rd.py_func(start, [], rd.float32), [3, 1])
        w = rd.Variable(start, name="w")
        if args.ballast:
            rd.Variable(rd.zeros([args.ballast]), trainable=False, name="ballast")
        x = rd.py_func(within, [self.step.read_value(), self.x], rd.float32)
        x = rd.reshape(x, [-1, 3])
        self.loss = rd.reduce_mean(rd.square(rd.matmul(x, w) - self.y))
        optimizer = rd.train.GradientDescentOptimizer(0.1)
        if args.aggregate:
            optimizer = rd.train.SyncReplicasOptimizer(
                optimizer, args.aggregate, args.workers
            )
        self.train = optimizer.minimize(self.loss, global_step=self.step)
        self.sync = optimizer if args.aggregate else None


class SaveListener(rd.train.CheckpointSaverListener):
    def __init__(self, stops):
        self._stops = stops

    def before_save(self, session, global_step_value):
        self._stops.at("save", global_step_value)


def batches():
    random = np.random.default_rng(1)
    while True:
        data = random.standard_normal((16, 3)).astype(np.float32)
        yield data, data @ TRUTH


def monitored(args, model, target, config, stops):
    chief = args.task == 0
    hooks = [rd.train.StopAtStepHook(last_step=args.last)]
    if model.sync:
        hooks.append(model.sync.make_session_run_hook(chief, num_tokens=0))
    scaffold = rd.train.Scaffold()
    saves = [
        rd.train.CheckpointSaverHook(
            args.folder,
            save_steps=5,
            scaffold=scaffold,
            listeners=[SaveListener(stops)],
        )
    ]
    with rd.train.MonitoredTrainingSession(
        target,
        chief,
        args.folder,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=saves,
        save_checkpoint_secs=None,
        config=config,
    ) as session:
        data = batches()
        now = 0
        while not session.should_stop():
            x, y = next(data)
            fetches = [model.step, model.loss, model.train]
            now, loss, _ = session.run(fetches, {model.x: x, model.y: y})
            stops.at("between", now)
    return now, loss


def supervised(args, model, target, config, stops):
    supervisor = rd.train.Supervisor(
        is_chief=args.task == 0,
        logdir=args.folder,
        global_step=model.step,
        save_model_secs=0,
        recovery_wait_secs=0.1,
    )
    data, now = batches(), 0
    with supervisor.managed_session(target, config=config) as session:
        while not supervisor.should_stop() and now < args.last:
            x, y = next(data)
            fetches = [model.step, model.loss, model.train]
            now, loss, _ = session.run(fetches, {model.x: x, model.y: y})
            if args.task == 0 and now % 5 == 0:
                supervisor.saver.save(session, supervisor.save_path, now)
            stops.at("between", now)
    return now, loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cluster", type=json.loads)
    parser.add_argument("--task", type=int)
    parser.add_argument("--folder")
    parser.add_argument("--last", type=int)
    parser.add_argument("--aggregate", type=int, default=0)
    parser.add_argument("--ballast", type=int, default=0)
    parser.add_argument("--stops", type=json.loads, default={})
    parser.add_argument("--supervisor", action="store_true")
    args = parser.parse_args()
    args.workers = len(args.cluster["worker"])
    logging.basicConfig(level=logging.INFO, stream=sys.stdout)
    server = rd.train.Server(args.cluster, job_name="worker", task_index=args.task)
    here = f"/job:worker/task:{args.task}"
    stops = Stops(args.stops)
    setter = rd.train.replica_device_setter(
        ps_tasks=len(args.cluster["ps"]), worker_device=here
    )
    with rd.device(setter):
        model = Model(args, stops)
    # The others may be down.
    config = rd.ConfigProto(device_filters=["/job:ps", here])
    train = supervised if args.supervisor else monitored
    now, loss = train(args, model, server.target, config, stops)
    print(f"done at {now} with loss {loss:.2g}", flush=True)


if __name__ == "__main__":
    main()

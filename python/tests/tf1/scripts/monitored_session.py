"""MonitoredTrainingSession with hooks, which goes on from its checkpoint."""

import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets(sys.argv[1], one_hot=True)
folder = sys.argv[2]


class LossHook(tf.train.SessionRunHook):
    def __init__(self, loss):
        self._loss = loss
        self.losses = []
        self.ended = False

    def begin(self):
        self._step = tf.train.get_global_step()

    def before_run(self, run_context):
        return tf.train.SessionRunArgs([self._loss, self._step])

    def after_run(self, run_context, run_values):
        loss_value, _ = run_values.results
        self.losses.append(loss_value)

    def end(self, session):
        self.ended = True


def train(last_step):
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.from_tensor_slices(
            (mnist.train.images, mnist.train.labels.astype(np.float32))
        )
        dataset = dataset.shuffle(1000).repeat().batch(100)
        x, y = dataset.make_one_shot_iterator().get_next()
        logits = tf.layers.dense(x, 10, name="softmax")
        loss = tf.losses.softmax_cross_entropy(onehot_labels=y, logits=logits)
        global_step = tf.train.get_or_create_global_step()
        train_op = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=global_step)
        tf.summary.scalar("loss", loss)
        accuracy, update = tf.metrics.accuracy(tf.argmax(y, 1), tf.argmax(logits, 1))
        mine = LossHook(loss)
        final = tf.train.FinalOpsHook({"accuracy": accuracy, "step": global_step})
        hooks = [
            tf.train.StopAtStepHook(last_step=last_step),
            tf.train.NanTensorHook(loss),
            tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=10),
            mine,
            final,
        ]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder,
            hooks=hooks,
            save_checkpoint_steps=20,
            save_summaries_steps=10,
            log_step_count_steps=10,
            config=tf.ConfigProto(allow_soft_placement=True),
        ) as mon_sess:
            while not mon_sess.should_stop():
                mon_sess.run([train_op, update])
        return mine, final.final_ops_values


first, values = train(40)
print("Ran:", len(first.losses), first.ended, values["step"])
print("First loss:", first.losses[0])
print("Last loss:", first.losses[-1])
second, values = train(60)
print("Ran again:", len(second.losses), second.ended, values["step"])
print("Accuracy:", values["accuracy"])
print("Goes on:", second.losses[0] < first.losses[0] / 2)
print("Checkpoint:", os.path.basename(tf.train.latest_checkpoint(folder)))

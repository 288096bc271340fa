"""A training loop under a Supervisor, twice."""

import os
import sys

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets(sys.argv[1], one_hot=True)
logdir = sys.argv[2]


def train(until):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 784])
        y_ = tf.placeholder(tf.float32, [None, 10])
        hidden = tf.contrib.layers.fully_connected(x, 32)
        logits = tf.contrib.layers.fully_connected(hidden, 10, activation_fn=None)
        loss = tf.losses.softmax_cross_entropy(y_, logits)
        global_step = tf.Variable(0, name="global_step", trainable=False)
        rate = tf.train.exponential_decay(0.1, global_step, 20, 0.9, staircase=True)
        train_op = tf.train.GradientDescentOptimizer(rate).minimize(
            loss, global_step=global_step
        )
        tf.summary.scalar("loss", loss)
        summary_op = tf.summary.merge_all()
        init_op = tf.global_variables_initializer()
        sv = tf.train.Supervisor(
            is_chief=True,
            logdir=logdir,
            init_op=init_op,
            summary_op=None,
            global_step=global_step,
            save_model_secs=0,
        )
        config = tf.ConfigProto(allow_soft_placement=True)
        with sv.prepare_or_wait_for_session("", config=config) as sess:
            step = sess.run(global_step)
            print("Begins at step:", step)
            while not sv.should_stop() and step < until:
                xs, ys = mnist.train.next_batch(100)
                feed = {x: xs, y_: ys}
                _, loss_value = sess.run([train_op, loss], feed)
                step = sess.run(global_step)
                if step % 10 == 0:
                    sv.summary_computed(sess, sess.run(summary_op, feed), step)
            sv.saver.save(sess, sv.save_path, global_step=global_step)
            print("Loss:", loss_value)
            sv.stop()


train(until=40)
train(until=60)
print("Events:", any("tfevents" in name for name in os.listdir(logdir)))

with tf.Graph().as_default():
    v = tf.Variable(1.0)
    sv = tf.train.Supervisor(logdir=None)
    with sv.managed_session() as sess:
        print("Managed:", sess.run(v))
        sv.request_stop()
    print("Stopped:", sv.should_stop())

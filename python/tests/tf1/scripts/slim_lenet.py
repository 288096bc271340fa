"""Layers with defaults by scope, regularizers, moving averages, decay."""

import sys

import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets(sys.argv[1], one_hot=False, reshape=False)
num_steps = int(sys.argv[2])


def lenet(images, is_training):
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        activation_fn=tf.nn.relu,
        weights_initializer=tf.contrib.layers.xavier_initializer(),
        weights_regularizer=slim.l2_regularizer(0.0005),
    ):
        net = slim.conv2d(images, 8, [5, 5], scope="conv1")
        net = slim.max_pool2d(net, [2, 2], scope="pool1")
        net = slim.conv2d(
            net, 16, [5, 5], normalizer_fn=slim.batch_norm,
            normalizer_params={"is_training": is_training, "decay": 0.9}, scope="conv2",
        )  # fmt: skip
        net = slim.max_pool2d(net, [2, 2], scope="pool2")
        net = slim.flatten(net)
        net = slim.fully_connected(net, 32, scope="fc3")
        net = slim.dropout(net, 0.8, is_training=is_training)
        return slim.fully_connected(net, 10, activation_fn=None, scope="logits")


images = tf.placeholder(tf.float32, [None, 28, 28, 1])
labels = tf.placeholder(tf.int32, [None])
is_training = tf.placeholder_with_default(False, [])
logits = lenet(images, is_training)
tf.losses.sparse_softmax_cross_entropy(labels, logits)
total_loss = tf.losses.get_total_loss()
print("Regularizers:", len(tf.losses.get_regularization_losses()))

global_step = tf.Variable(0, trainable=False, name="global_step")
rate = tf.train.piecewise_constant(global_step, [1000], [0.005, 0.001])
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    opt_op = tf.train.AdamOptimizer(rate).minimize(total_loss, global_step)
ema = tf.train.ExponentialMovingAverage(0.9, global_step)
with tf.control_dependencies([opt_op]):
    train_op = ema.apply(tf.trainable_variables())
accuracy = tf.reduce_mean(tf.to_float(tf.nn.in_top_k(logits, labels, 1)))
saver = tf.train.Saver(ema.variables_to_restore())

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(num_steps):
        xs, ys = mnist.train.next_batch(64)
        feed = {images: xs, labels: ys, is_training: True}
        _, loss_value = sess.run([train_op, total_loss], feed)
        if i == 0:
            print("First loss:", loss_value)
    print("Last loss:", loss_value)
    print(
        "Accuracy:",
        sess.run(accuracy, {images: mnist.test.images, labels: mnist.test.labels}),
    )
    weights = tf.trainable_variables()[0]
    print("Average name:", ema.average_name(weights))

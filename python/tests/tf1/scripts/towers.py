"""One model on several devices: a tower on each, and averaged gradients."""

import sys

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets(sys.argv[1], one_hot=True)
num_devices = 2
num_steps = int(sys.argv[2])
learning_rate = 0.01
batch_size = 64
PS_OPS = ["Variable", "VariableV2", "AutoReloadVariable"]


def conv_net(x, n_classes, dropout, reuse, is_training):
    with tf.variable_scope("ConvNet", reuse=reuse):
        x = tf.reshape(x, shape=[-1, 28, 28, 1])
        x = tf.layers.conv2d(x, 8, 5, activation=tf.nn.relu)
        x = tf.layers.max_pooling2d(x, 2, 2)
        x = tf.layers.conv2d(x, 16, 3, activation=tf.nn.relu)
        x = tf.layers.max_pooling2d(x, 2, 2)
        x = tf.contrib.layers.flatten(x)
        x = tf.layers.dense(x, 32)
        x = tf.layers.dropout(x, rate=dropout, training=is_training)
        out = tf.layers.dense(x, n_classes)
        return tf.nn.softmax(out) if not is_training else out


def average_gradients(tower_grads):
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = []
        for g, _ in grad_and_vars:
            expanded_g = tf.expand_dims(g, 0)
            grads.append(expanded_g)
        grad = tf.concat(grads, 0)
        grad = tf.reduce_mean(grad, 0)
        average_grads.append((grad, grad_and_vars[0][1]))
    return average_grads


def assign_to_device(device, ps_device="/cpu:0"):
    def _assign(op):
        node_def = op if isinstance(op, tf.NodeDef) else op.node_def
        if node_def.op in PS_OPS:
            return ps_device
        return device

    return _assign


with tf.device("/cpu:0"):
    tower_grads = []
    reuse_vars = False
    X = tf.placeholder(tf.float32, [None, 784])
    Y = tf.placeholder(tf.float32, [None, 10])
    for i in range(num_devices):
        with tf.device(assign_to_device("/cpu:{}".format(i), ps_device="/cpu:0")):
            _x = X[i * batch_size : (i + 1) * batch_size]
            _y = Y[i * batch_size : (i + 1) * batch_size]
            logits_train = conv_net(_x, 10, 0.25, reuse=reuse_vars, is_training=True)
            logits_test = conv_net(_x, 10, 0.25, reuse=True, is_training=False)
            loss_op = tf.reduce_mean(
                tf.nn.softmax_cross_entropy_with_logits(logits=logits_train, labels=_y)
            )
            optimizer = tf.train.AdamOptimizer(learning_rate=learning_rate)
            grads = optimizer.compute_gradients(loss_op)
            if i == 0:
                first_loss = loss_op
                correct_pred = tf.equal(tf.argmax(logits_test, 1), tf.argmax(_y, 1))
                accuracy = tf.reduce_mean(tf.cast(correct_pred, tf.float32))
            reuse_vars = True
            tower_grads.append(grads)
    tower_grads = average_gradients(tower_grads)
    train_op = optimizer.apply_gradients(tower_grads)

print("Variables:", len(tf.trainable_variables()))
print("Devices of the losses:", first_loss.device, loss_op.device)
init = tf.global_variables_initializer()
config = tf.ConfigProto(
    allow_soft_placement=True,
    log_device_placement=False,
    device_count={"CPU": num_devices},
)

with tf.Session(config=config) as sess:
    sess.run(init)
    for step in range(1, num_steps + 1):
        batch_x, batch_y = mnist.train.next_batch(batch_size * num_devices)
        _, loss = sess.run([train_op, first_loss], feed_dict={X: batch_x, Y: batch_y})
        if step == 1:
            print("First loss:", loss)
    print("Last loss:", loss)
    print(
        "Accuracy:",
        np.mean(
            [
                sess.run(
                    accuracy,
                    feed_dict={
                        X: mnist.test.images[i : i + batch_size],
                        Y: mnist.test.labels[i : i + batch_size],
                    },
                )
                for i in range(0, 4 * batch_size, batch_size)
            ]
        ),
    )

"""Summaries of loss and accuracy."""

import sys

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets(sys.argv[1], one_hot=True)
logs_path = sys.argv[2]

x = tf.placeholder(tf.float32, [None, 784], name="InputData")
y = tf.placeholder(tf.float32, [None, 10], name="LabelData")
W = tf.Variable(tf.zeros([784, 10]), name="Weights")
b = tf.Variable(tf.zeros([10]), name="Bias")

with tf.name_scope("Model"):
    pred = tf.nn.softmax(tf.matmul(x, W) + b)
with tf.name_scope("Loss"):
    cost = tf.reduce_mean(-tf.reduce_sum(y * tf.log(pred + 1e-9), reduction_indices=1))
with tf.name_scope("SGD"):
    optimizer = tf.train.GradientDescentOptimizer(0.05).minimize(cost)
with tf.name_scope("Accuracy"):
    acc = tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1))
    acc = tf.reduce_mean(tf.cast(acc, tf.float32))

init = tf.global_variables_initializer()
tf.summary.scalar("loss", cost)
tf.summary.scalar("accuracy", acc)
merged_summary_op = tf.summary.merge_all()

with tf.Session() as sess:
    sess.run(init)
    summary_writer = tf.summary.FileWriter(logs_path, graph=tf.get_default_graph())
    for i in range(40):
        batch_xs, batch_ys = mnist.train.next_batch(100)
        _, c, summary = sess.run(
            [optimizer, cost, merged_summary_op],
            feed_dict={x: batch_xs, y: batch_ys},
        )
        summary_writer.add_summary(summary, i)
        if i == 0:
            print("First loss:", c)
    print("Last loss:", c)
    extra = tf.Summary(value=[tf.Summary.Value(tag="extra", simple_value=0.5)])
    summary_writer.add_summary(extra, 40)
    summary_writer.close()
    print("Accuracy:", acc.eval({x: mnist.test.images, y: mnist.test.labels}))

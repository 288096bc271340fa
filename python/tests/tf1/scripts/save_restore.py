"""Saves a model in the middle of training, and goes on from there."""

import os
import sys

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets(sys.argv[1], one_hot=True)
model_path = os.path.join(sys.argv[2], "model.ckpt")
batch_size = 100

x = tf.placeholder("float", [None, 784], name="x")
y = tf.placeholder("float", [None, 10], name="y")
weights = {
    "h1": tf.Variable(tf.random_normal([784, 64], stddev=0.1), name="h1"),
    "out": tf.Variable(tf.random_normal([64, 10], stddev=0.1), name="w_out"),
}
biases = {
    "b1": tf.Variable(tf.zeros([64]), name="b1"),
    "out": tf.Variable(tf.zeros([10]), name="b_out"),
}
layer_1 = tf.nn.relu(tf.add(tf.matmul(x, weights["h1"]), biases["b1"]))
pred = tf.add(tf.matmul(layer_1, weights["out"]), biases["out"], name="pred")
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=pred, labels=y))
global_step = tf.Variable(0, name="global_step", trainable=False)
optimizer = tf.train.AdamOptimizer(learning_rate=0.005)
train_op = optimizer.minimize(cost, global_step=global_step)
accuracy = tf.reduce_mean(
    tf.cast(tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1)), "float")
)
init = tf.global_variables_initializer()
saver = tf.train.Saver(max_to_keep=2)
test = {x: mnist.test.images, y: mnist.test.labels}


def train(sess, steps):
    for _ in range(steps):
        batch_x, batch_y = mnist.train.next_batch(batch_size)
        sess.run(train_op, feed_dict={x: batch_x, y: batch_y})


print("Starting 1st session...")
with tf.Session() as sess:
    sess.run(init)
    train(sess, 30)
    save_path = saver.save(sess, model_path, global_step=global_step)
    print("Model saved in file: %s" % os.path.basename(save_path))
    first = sess.run([accuracy, cost], test)

print("Starting 2nd session...")
with tf.Session() as sess:
    sess.run(init)
    load_path = tf.train.latest_checkpoint(sys.argv[2])
    saver.restore(sess, load_path)
    again = sess.run([accuracy, cost], test)
    print(
        "Restored the same:", first[0] == again[0] and abs(first[1] - again[1]) < 1e-5
    )
    train(sess, 60)
    saver.save(sess, model_path, global_step=global_step)
    print("Steps:", sess.run(global_step))
    print("Accuracy:", accuracy.eval(test))
    final = accuracy.eval(test)

print(
    "Checkpoints:",
    len(tf.train.get_checkpoint_state(sys.argv[2]).all_model_checkpoint_paths),
)

# The graph comes from the file too.
tf.reset_default_graph()
with tf.Session() as sess:
    path = tf.train.latest_checkpoint(sys.argv[2])
    saver = tf.train.import_meta_graph(path + ".meta")
    saver.restore(sess, path)
    graph = tf.get_default_graph()
    logits = graph.get_tensor_by_name("pred:0")
    got = sess.run(logits, {"x:0": mnist.test.images})
    same = (got.argmax(1) == mnist.test.labels.argmax(1)).mean()
    print("Imported the same:", abs(same - final) < 1e-6)

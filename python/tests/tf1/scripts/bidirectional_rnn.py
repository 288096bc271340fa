"""Two LSTMs that read images row by row, from both ends."""

import sys

import tensorflow as tf
from tensorflow.contrib import rnn
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets(sys.argv[1], one_hot=True)
training_steps = int(sys.argv[2])
batch_size = 64
num_input, timesteps, num_hidden, num_classes = 28, 28, 24, 10

X = tf.placeholder("float", [None, timesteps, num_input])
Y = tf.placeholder("float", [None, num_classes])

# Both directions: twice the units.
weights = tf.Variable(tf.random_normal([2 * num_hidden, num_classes], stddev=0.1))
biases = tf.Variable(tf.zeros([num_classes]))


def BiRNN(x):
    x = tf.unstack(x, timesteps, 1)
    lstm_fw_cell = rnn.BasicLSTMCell(num_hidden, forget_bias=1.0)
    lstm_bw_cell = rnn.BasicLSTMCell(num_hidden, forget_bias=1.0)
    outputs, _, _ = rnn.static_bidirectional_rnn(
        lstm_fw_cell, lstm_bw_cell, x, dtype=tf.float32
    )
    return tf.matmul(outputs[-1], weights) + biases


logits = BiRNN(X)
with tf.variable_scope("dynamic"):
    outputs, states = tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.LSTMCell(num_hidden),
        tf.nn.rnn_cell.LSTMCell(num_hidden),
        X,
        dtype=tf.float32,
    )
    both = tf.concat(outputs, 2)
    logits += tf.layers.dense(tf.reduce_mean(both, axis=1), num_classes)
    print("Both directions:", both.get_shape().as_list())

loss_op = tf.reduce_mean(
    tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=Y)
)
train_op = tf.train.AdamOptimizer(0.01).minimize(loss_op)
accuracy = tf.reduce_mean(
    tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(Y, 1)), tf.float32)
)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(1, training_steps + 1):
        batch_x, batch_y = mnist.train.next_batch(batch_size)
        batch_x = batch_x.reshape((batch_size, timesteps, num_input))
        _, loss = sess.run([train_op, loss_op], feed_dict={X: batch_x, Y: batch_y})
        if step == 1:
            print("First loss:", loss)
    print("Last loss:", loss)
    test = mnist.test.images[:128].reshape((-1, timesteps, num_input))
    print("Accuracy:", sess.run(accuracy, {X: test, Y: mnist.test.labels[:128]}))

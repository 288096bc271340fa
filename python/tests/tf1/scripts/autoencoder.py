"""An autoencoder with two layers on each side."""

import sys

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets(sys.argv[1], one_hot=True)

learning_rate = 0.01
num_steps = int(sys.argv[2])
batch_size = 128
num_hidden_1 = 64
num_hidden_2 = 32
num_input = 784

X = tf.placeholder("float", [None, num_input])
weights = {
    "encoder_h1": tf.Variable(tf.random_normal([num_input, num_hidden_1], stddev=0.1)),
    "encoder_h2": tf.Variable(
        tf.random_normal([num_hidden_1, num_hidden_2], stddev=0.1)
    ),
    "decoder_h1": tf.Variable(
        tf.random_normal([num_hidden_2, num_hidden_1], stddev=0.1)
    ),
    "decoder_h2": tf.Variable(tf.random_normal([num_hidden_1, num_input], stddev=0.1)),
}
biases = {
    "encoder_b1": tf.Variable(tf.random_normal([num_hidden_1], stddev=0.1)),
    "encoder_b2": tf.Variable(tf.random_normal([num_hidden_2], stddev=0.1)),
    "decoder_b1": tf.Variable(tf.random_normal([num_hidden_1], stddev=0.1)),
    "decoder_b2": tf.Variable(tf.random_normal([num_input], stddev=0.1)),
}


def layer(x, side, n):
    product = tf.matmul(x, weights["%s_h%d" % (side, n)])
    return tf.nn.sigmoid(tf.add(product, biases["%s_b%d" % (side, n)]))


def encoder(x):
    return layer(layer(x, "encoder", 1), "encoder", 2)


def decoder(x):
    return layer(layer(x, "decoder", 1), "decoder", 2)


y_pred = decoder(encoder(X))
loss = tf.reduce_mean(tf.pow(X - y_pred, 2))
optimizer = tf.train.RMSPropOptimizer(learning_rate).minimize(loss)
init = tf.global_variables_initializer()

with tf.Session() as sess:
    sess.run(init)
    for i in range(1, num_steps + 1):
        batch_x, _ = mnist.train.next_batch(batch_size)
        _, l = sess.run([optimizer, loss], feed_dict={X: batch_x})  # noqa: E741
        if i == 1:
            print("First loss:", l)
    print("Last loss:", l)
    g = sess.run(y_pred, feed_dict={X: mnist.test.images[:4]})
    print("Reconstructed:", g.shape)

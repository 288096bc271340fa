"""A generative adversarial network with dense layers."""

import sys

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

np.random.seed(1)
tf.set_random_seed(1)
mnist = input_data.read_data_sets(sys.argv[1], one_hot=True, seed=1)
num_steps = int(sys.argv[2])
batch_size = 64
image_dim = 784
gen_hidden_dim = 64
disc_hidden_dim = 64
noise_dim = 32


def glorot_init(shape):
    return tf.random_normal(shape=shape, stddev=1.0 / tf.sqrt(shape[0] / 2.0))


weights = {
    "gen_hidden1": tf.Variable(glorot_init([noise_dim, gen_hidden_dim])),
    "gen_out": tf.Variable(glorot_init([gen_hidden_dim, image_dim])),
    "disc_hidden1": tf.Variable(glorot_init([image_dim, disc_hidden_dim])),
    "disc_out": tf.Variable(glorot_init([disc_hidden_dim, 1])),
}
biases = {
    "gen_hidden1": tf.Variable(tf.zeros([gen_hidden_dim])),
    "gen_out": tf.Variable(tf.zeros([image_dim])),
    "disc_hidden1": tf.Variable(tf.zeros([disc_hidden_dim])),
    "disc_out": tf.Variable(tf.zeros([1])),
}


def generator(x):
    hidden = tf.nn.relu(tf.matmul(x, weights["gen_hidden1"]) + biases["gen_hidden1"])
    return tf.nn.sigmoid(tf.matmul(hidden, weights["gen_out"]) + biases["gen_out"])


def discriminator(x):
    hidden = tf.matmul(x, weights["disc_hidden1"]) + biases["disc_hidden1"]
    hidden = tf.nn.relu(hidden)
    out = tf.add(tf.matmul(hidden, weights["disc_out"]), biases["disc_out"])
    return tf.nn.sigmoid(out)


gen_input = tf.placeholder(tf.float32, shape=[None, noise_dim], name="input_noise")
disc_input = tf.placeholder(tf.float32, shape=[None, image_dim], name="disc_input")
gen_sample = generator(gen_input)
disc_real = discriminator(disc_input)
disc_fake = discriminator(gen_sample)
gen_loss = -tf.reduce_mean(tf.log(disc_fake + 1e-8))
disc_loss = -tf.reduce_mean(tf.log(disc_real + 1e-8) + tf.log(1.0 - disc_fake + 1e-8))

gen_vars = [weights["gen_hidden1"], weights["gen_out"]]
gen_vars += [biases["gen_hidden1"], biases["gen_out"]]
disc_vars = [weights["disc_hidden1"], weights["disc_out"]]
disc_vars += [biases["disc_hidden1"], biases["disc_out"]]
train_gen = tf.train.AdamOptimizer(0.002).minimize(gen_loss, var_list=gen_vars)
train_disc = tf.train.AdamOptimizer(0.0005).minimize(disc_loss, var_list=disc_vars)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(1, num_steps + 1):
        batch_x, _ = mnist.train.next_batch(batch_size)
        z = np.random.uniform(-1.0, 1.0, size=[batch_size, noise_dim])
        feed_dict = {disc_input: batch_x, gen_input: z}
        _, _, gl, dl = sess.run(
            [train_gen, train_disc, gen_loss, disc_loss], feed_dict=feed_dict
        )
        if i == 1:
            print("First loss:", dl)
    print("Generator loss:", gl)
    print("Last loss:", dl)
    z = np.random.uniform(-1.0, 1.0, size=[4, noise_dim])
    g = sess.run(gen_sample, feed_dict={gen_input: z})
    print("Made:", g.shape, 0 <= g.min() and g.max() <= 1)

"""A generator of transposed convolutions, with batch normalization."""

import sys

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

np.random.seed(1)
tf.set_random_seed(1)
mnist = input_data.read_data_sets(sys.argv[1], one_hot=True, seed=1)
num_steps = int(sys.argv[2])
batch_size = 16
noise_dim = 16

noise_input = tf.placeholder(tf.float32, shape=[None, noise_dim])
real_image_input = tf.placeholder(tf.float32, shape=[None, 28, 28, 1])
is_training = tf.placeholder(tf.bool)


def leakyrelu(x, alpha=0.2):
    return 0.5 * (1 + alpha) * x + 0.5 * (1 - alpha) * abs(x)


def generator(x, reuse=False):
    with tf.variable_scope("Generator", reuse=reuse):
        x = tf.layers.dense(x, units=7 * 7 * 16)
        x = tf.layers.batch_normalization(x, training=is_training)
        x = tf.nn.relu(x)
        x = tf.reshape(x, shape=[-1, 7, 7, 16])
        x = tf.layers.conv2d_transpose(x, 8, 5, strides=2, padding="same")
        x = tf.layers.batch_normalization(x, training=is_training)
        x = tf.nn.relu(x)
        x = tf.layers.conv2d_transpose(x, 1, 5, strides=2, padding="same")
        return tf.nn.sigmoid(x)


def discriminator(x, reuse=False):
    with tf.variable_scope("Discriminator", reuse=reuse):
        x = tf.layers.conv2d(x, 8, 5, strides=2, padding="same")
        x = leakyrelu(tf.layers.batch_normalization(x, training=is_training))
        x = tf.layers.conv2d(x, 16, 5, strides=2, padding="same")
        x = leakyrelu(tf.layers.batch_normalization(x, training=is_training))
        x = tf.contrib.layers.flatten(x)
        return tf.layers.dense(x, 2)


gen_sample = generator(noise_input)
disc_real = discriminator(real_image_input)
disc_fake = discriminator(gen_sample, reuse=True)
ones = tf.ones([batch_size], dtype=tf.int32)
zeros = tf.zeros([batch_size], dtype=tf.int32)


def entropy(logits, labels):
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels)
    )


disc_loss = entropy(disc_real, ones) + entropy(disc_fake, zeros)
gen_loss = entropy(disc_fake, ones)
gen_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Generator")
disc_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Discriminator")
gen_update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope="Generator")
disc_update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope="Discriminator")
with tf.control_dependencies(gen_update_ops):
    train_gen = tf.train.AdamOptimizer(0.001, 0.5, 0.999).minimize(
        gen_loss, var_list=gen_vars
    )
with tf.control_dependencies(disc_update_ops):
    train_disc = tf.train.AdamOptimizer(0.001, 0.5, 0.999).minimize(
        disc_loss, var_list=disc_vars
    )
print("Variables:", len(gen_vars), len(disc_vars))
print("Updates:", len(gen_update_ops), len(disc_update_ops))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    moving = [v for v in tf.global_variables() if "moving_mean" in v.name]
    before = sess.run(moving)
    for i in range(num_steps):
        batch_x, _ = mnist.train.next_batch(batch_size)
        batch_x = np.reshape(batch_x, [-1, 28, 28, 1])
        z = np.random.uniform(-1.0, 1.0, size=[batch_size, noise_dim])
        feed = {real_image_input: batch_x, noise_input: z, is_training: True}
        _, dl = sess.run([train_disc, disc_loss], feed_dict=feed)
        _, gl = sess.run([train_gen, gen_loss], feed_dict=feed)
        if i == 0:
            print("First loss:", dl)
    print("Last loss:", dl)
    changed = [np.abs(a - b).max() > 0 for a, b in zip(before, sess.run(moving))]
    print("Moving averages changed:", all(changed))
    g = sess.run(gen_sample, {noise_input: z, is_training: False})
    print("Made:", g.shape)

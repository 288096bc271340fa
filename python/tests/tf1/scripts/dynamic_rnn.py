"""Sequences of different lengths: rising ones against random ones."""

import random
import sys

import tensorflow as tf


class ToySequenceData(object):
    def __init__(self, n_samples=500, max_seq_len=12, min_seq_len=3, max_value=1000):
        self.data = []
        self.labels = []
        self.seqlen = []
        for i in range(n_samples):
            length = random.randint(min_seq_len, max_seq_len)
            self.seqlen.append(length)
            if random.random() < 0.5:
                rand_start = random.randint(0, max_value - length)
                s = [
                    [float(i) / max_value]
                    for i in range(rand_start, rand_start + length)
                ]
                s += [[0.0] for i in range(max_seq_len - length)]
                self.labels.append([1.0, 0.0])
            else:
                s = [
                    [float(random.randint(0, max_value)) / max_value]
                    for i in range(length)
                ]
                s += [[0.0] for i in range(max_seq_len - length)]
                self.labels.append([0.0, 1.0])
            self.data.append(s)
        self.batch_id = 0

    def next(self, batch_size):
        if self.batch_id == len(self.data):
            self.batch_id = 0
        end = min(self.batch_id + batch_size, len(self.data))
        part = slice(self.batch_id, end)
        self.batch_id = end
        return self.data[part], self.labels[part], self.seqlen[part]


random.seed(1)
tf.set_random_seed(1)
seq_max_len = 12
n_hidden = 32
n_classes = 2
trainset = ToySequenceData()

x = tf.placeholder("float", [None, seq_max_len, 1])
y = tf.placeholder("float", [None, n_classes])
seqlen = tf.placeholder(tf.int32, [None])

weights = {"out": tf.Variable(tf.random_normal([n_hidden, n_classes]))}
biases = {"out": tf.Variable(tf.random_normal([n_classes]))}


def dynamicRNN(x, seqlen, weights, biases):
    cell = tf.nn.rnn_cell.MultiRNNCell(
        [
            tf.nn.rnn_cell.DropoutWrapper(
                tf.nn.rnn_cell.GRUCell(n_hidden), output_keep_prob=1.0
            )
            for _ in range(2)
        ]
    )
    outputs, states = tf.nn.dynamic_rnn(
        cell, x, dtype=tf.float32, sequence_length=seqlen
    )
    # The output at the end of each sequence.
    batch_size = tf.shape(outputs)[0]
    index = tf.range(0, batch_size) * seq_max_len + (seqlen - 1)
    outputs = tf.gather(tf.reshape(outputs, [-1, n_hidden]), index)
    return tf.matmul(outputs, weights["out"]) + biases["out"]


pred = dynamicRNN(x, seqlen, weights, biases)
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=pred, labels=y))
optimizer = tf.train.AdamOptimizer(learning_rate=0.01)
grads_and_vars = optimizer.compute_gradients(cost)
grads, variables = zip(*grads_and_vars)
grads, _ = tf.clip_by_global_norm(grads, 5.0)
train_op = optimizer.apply_gradients(zip(grads, variables))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    losses = []
    for step in range(int(sys.argv[1])):
        batch_x, batch_y, batch_seqlen = trainset.next(100)
        _, c = sess.run(
            [train_op, cost],
            feed_dict={x: batch_x, y: batch_y, seqlen: batch_seqlen},
        )
        losses.append(c)
    print("First loss:", losses[0])
    print("Last loss:", sum(losses[-5:]) / 5)

"""Skip-grams with noise-contrastive estimation, on a text that is made here."""

from __future__ import absolute_import, division, print_function

import collections
import math
import random
import sys

import numpy as np
import tensorflow as tf

random.seed(0)
# Words come in pairs: each is followed by its partner.
words = []
for _ in range(3000):
    first = random.randrange(20)
    words += ["a%d" % first, "b%d" % first]

vocabulary_size = 30


def build_dataset(words, n_words):
    count = [["UNK", -1]]
    count.extend(collections.Counter(words).most_common(n_words - 1))
    dictionary = {word: i for i, (word, _) in enumerate(count)}
    data = [dictionary.get(word, 0) for word in words]
    return data, count, dictionary, dict(zip(dictionary.values(), dictionary.keys()))


data, count, dictionary, reverse_dictionary = build_dataset(words, vocabulary_size)
data_index = 0


def generate_batch(batch_size, num_skips, skip_window):
    global data_index
    batch = np.ndarray(shape=(batch_size), dtype=np.int32)
    labels = np.ndarray(shape=(batch_size, 1), dtype=np.int32)
    span = 2 * skip_window + 1
    buffer = collections.deque(maxlen=span)
    if data_index + span > len(data):
        data_index = 0
    buffer.extend(data[data_index : data_index + span])
    data_index += span
    for i in range(batch_size // num_skips):
        context_words = [w for w in range(span) if w != skip_window]
        for j, context in enumerate(random.sample(context_words, num_skips)):
            batch[i * num_skips + j] = buffer[skip_window]
            labels[i * num_skips + j, 0] = buffer[context]
        if data_index == len(data):
            buffer.extend(data[0:span])
            data_index = span
        else:
            buffer.append(data[data_index])
            data_index += 1
    return batch, labels


batch_size = 128
embedding_size = 16
num_sampled = 8
valid_examples = np.arange(1, 5)

graph = tf.Graph()
with graph.as_default():
    with tf.name_scope("inputs"):
        train_inputs = tf.placeholder(tf.int32, shape=[batch_size])
        train_labels = tf.placeholder(tf.int32, shape=[batch_size, 1])
        valid_dataset = tf.constant(valid_examples, dtype=tf.int32)
    with tf.device("/cpu:0"):
        with tf.name_scope("embeddings"):
            embeddings = tf.Variable(
                tf.random_uniform([vocabulary_size, embedding_size], -1.0, 1.0)
            )
            embed = tf.nn.embedding_lookup(embeddings, train_inputs)
        with tf.name_scope("weights"):
            nce_weights = tf.Variable(
                tf.truncated_normal(
                    [vocabulary_size, embedding_size],
                    stddev=1.0 / math.sqrt(embedding_size),
                )
            )
        with tf.name_scope("biases"):
            nce_biases = tf.Variable(tf.zeros([vocabulary_size]))
    with tf.name_scope("loss"):
        loss = tf.reduce_mean(
            tf.nn.nce_loss(
                weights=nce_weights,
                biases=nce_biases,
                labels=train_labels,
                inputs=embed,
                num_sampled=num_sampled,
                num_classes=vocabulary_size,
            )
        )
    tf.summary.scalar("loss", loss)
    with tf.name_scope("optimizer"):
        optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
    normalized_embeddings = embeddings / norm
    valid_embeddings = tf.nn.embedding_lookup(normalized_embeddings, valid_dataset)
    similarity = tf.matmul(valid_embeddings, normalized_embeddings, transpose_b=True)
    merged = tf.summary.merge_all()
    init = tf.global_variables_initializer()
    saver = tf.train.Saver()

with tf.Session(graph=graph) as session:
    init.run()
    average_loss = 0
    num_steps = int(sys.argv[1])
    for step in range(num_steps):
        batch_inputs, batch_labels = generate_batch(batch_size, 2, 1)
        feed_dict = {train_inputs: batch_inputs, train_labels: batch_labels}
        _, summary, loss_val = session.run(
            [optimizer, merged, loss], feed_dict=feed_dict
        )
        if step == 0:
            print("First loss:", loss_val)
        average_loss += loss_val / 20 if step >= num_steps - 20 else 0
    print("Last loss:", average_loss)
    sim = similarity.eval()
    for i in range(len(valid_examples)):
        nearest = (-sim[i, :]).argsort()[1:4]
        print(
            "Nearest to", reverse_dictionary[valid_examples[i]], ":",
            [reverse_dictionary[k] for k in nearest],
        )  # fmt: skip
    print("Similarity:", sim.shape)

"""Records written to files, and read again by queue runners."""

import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets(sys.argv[1], dtype=tf.uint8, reshape=True)
folder = sys.argv[2]


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def convert_to(images, labels, filename):
    writer = tf.python_io.TFRecordWriter(filename)
    for index in range(len(images)):
        example = tf.train.Example(
            features=tf.train.Features(
                feature={
                    "label": _int64_feature(int(labels[index])),
                    "image_raw": _bytes_feature(images[index].tobytes()),
                }
            )
        )
        writer.write(example.SerializeToString())
    writer.close()


files = [os.path.join(folder, "train-%d.tfrecords" % i) for i in range(2)]
for i, name in enumerate(files):
    part = slice(i * 100, (i + 1) * 100)
    convert_to(mnist.train.images[part], mnist.train.labels[part], name)
print("Records:", sum(1 for _ in tf.python_io.tf_record_iterator(files[0])))


def read_and_decode(filename_queue):
    reader = tf.TFRecordReader()
    _, serialized_example = reader.read(filename_queue)
    features = tf.parse_single_example(
        serialized_example,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape([784])
    image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
    label = tf.cast(features["label"], tf.int32)
    return image, label


def inputs(batch_size, num_epochs):
    with tf.name_scope("input"):
        filename_queue = tf.train.string_input_producer(files, num_epochs=num_epochs)
        image, label = read_and_decode(filename_queue)
        images, sparse_labels = tf.train.shuffle_batch(
            [image, label],
            batch_size=batch_size,
            num_threads=2,
            capacity=100 + 3 * batch_size,
            min_after_dequeue=50,
        )
        return images, sparse_labels


with tf.Graph().as_default():
    images, labels = inputs(batch_size=20, num_epochs=6)
    with tf.variable_scope("softmax"):
        weights = tf.get_variable(
            "weights", [784, 10], initializer=tf.zeros_initializer()
        )
        biases = tf.get_variable(
            "biases", [10], initializer=tf.constant_initializer(0.0)
        )
    logits = tf.matmul(images, weights) + biases
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    global_step = tf.Variable(0, name="global_step", trainable=False)
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(
        loss, global_step=global_step
    )
    init_op = tf.group(
        tf.global_variables_initializer(), tf.local_variables_initializer()
    )
    sess = tf.Session()
    sess.run(init_op)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    losses = []
    try:
        while not coord.should_stop():
            _, loss_value = sess.run([train_op, loss])
            losses.append(loss_value)
    except tf.errors.OutOfRangeError:
        print("Done training for %d steps." % len(losses))
    finally:
        coord.request_stop()
    coord.join(threads)
    sess.close()
    print("First loss:", losses[0])
    print("Last loss:", np.mean(losses[-5:]))

# Lines of numbers.
csv = os.path.join(folder, "points.csv")
with open(csv, "w") as f:
    f.write("x,y,name\n")
    for i in range(10):
        f.write("%d,%.1f,n%d\n" % (i, i * 0.5, i))
with tf.Graph().as_default(), tf.Session() as sess:
    queue = tf.train.string_input_producer([csv], shuffle=False, num_epochs=1)
    reader = tf.TextLineReader(skip_header_lines=1)
    key, value = reader.read(queue)
    col1, col2, name = tf.decode_csv(value, record_defaults=[[0], [0.0], [""]])
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(coord=coord)
    total, names = 0.0, []
    try:
        while True:
            a, b, n = sess.run([col1, col2, name])
            total += a + b
            names.append(n)
    except tf.errors.OutOfRangeError:
        pass
    coord.request_stop()
    coord.join(threads)
    print("Sum of lines:", total, names[-1])

# Rows of arrays that are in memory.
with tf.Graph().as_default(), tf.Session() as sess:
    x, y = tf.train.slice_input_producer(
        [np.arange(10, dtype=np.float32), np.arange(10) * 2], num_epochs=1, shuffle=True
    )
    batch_x, batch_y = tf.train.batch([x, y], batch_size=5)
    sess.run(tf.local_variables_initializer())
    with tf.train.Coordinator().stop_on_exception():
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(coord=coord)
        one, two = sess.run([batch_x, batch_y]), sess.run([batch_x, batch_y])
        print("Doubled:", all((2 * a == b).all() for a, b in (one, two)))
        print("Sum of rows:", one[0].sum() + two[0].sum())
        coord.request_stop()
        coord.join(threads)

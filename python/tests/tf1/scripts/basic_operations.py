"""Constants, placeholders, products, variables: the first steps."""

from __future__ import absolute_import, division, print_function

import numpy as np
import tensorflow as tf

hello = tf.constant("Hello, TensorFlow!")
sess = tf.Session()
print(sess.run(hello))

a = tf.constant(2)
b = tf.constant(3)
with tf.Session() as sess:
    print("Addition with constants: %i" % sess.run(a + b))
    print("Multiplication with constants: %i" % sess.run(a * b))

a = tf.placeholder(tf.int16)
b = tf.placeholder(tf.int16)
add = tf.add(a, b)
mul = tf.multiply(a, b)
with tf.Session() as sess:
    print("Addition with variables: %i" % sess.run(add, feed_dict={a: 2, b: 3}))
    print("Multiplication with variables: %i" % sess.run(mul, feed_dict={a: 2, b: 3}))

matrix1 = tf.constant([[3.0, 3.0]])
matrix2 = tf.constant([[2.0], [2.0]])
product = tf.matmul(matrix1, matrix2)
with tf.Session(config=tf.ConfigProto(log_device_placement=False)) as sess:
    print("Product:", sess.run(product))

state = tf.Variable(0, name="counter")
update = tf.assign(state, tf.add(state, tf.constant(1)))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(3):
        sess.run(update)
    print("Counter:", sess.run(state))

x = tf.placeholder("float", [None, 4])
print("Static shape:", x.get_shape().as_list(), x.get_shape()[1].value, x.shape[0])
means = tf.reduce_mean(x, reduction_indices=[1], keep_dims=True)
largest = tf.argmax(x, 1)
rows = tf.range(0, tf.shape(x)[0]) * 2
with tf.Session() as sess:
    values = np.arange(8).reshape(2, 4)
    print("Means:", sess.run(means, {x: values}).tolist())
    print("Largest:", sess.run(largest, {x: values}).tolist())
    print("Rows:", sess.run(rows, {x: values}).tolist())

i = tf.while_loop(lambda n: tf.less(n, 10), lambda n: n + 3, [tf.constant(0)])
flag = tf.placeholder_with_default(True, shape=[])
chosen = tf.cond(flag, lambda: tf.constant(1), lambda: tf.constant(-1))
with tf.Session() as sess:
    print("Loop:", sess.run(i))
    print("Branch:", sess.run(chosen), sess.run(chosen, {flag: False}))

"""An estimator with a model function of convolutional layers."""

from __future__ import absolute_import, division, print_function

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

tf.logging.set_verbosity(tf.logging.INFO)
tf.app.flags.DEFINE_string("data_dir", "", "where MNIST is")
tf.app.flags.DEFINE_string("model_dir", "", "where the model goes")
tf.app.flags.DEFINE_integer("steps", 200, "steps")
FLAGS = tf.app.flags.FLAGS


def cnn_model_fn(features, labels, mode):
    input_layer = tf.reshape(features["x"], [-1, 28, 28, 1])
    conv1 = tf.layers.conv2d(
        inputs=input_layer,
        filters=8,
        kernel_size=[5, 5],
        padding="same",
        activation=tf.nn.relu,
    )
    pool1 = tf.layers.max_pooling2d(inputs=conv1, pool_size=[2, 2], strides=2)
    conv2 = tf.layers.conv2d(
        inputs=pool1,
        filters=16,
        kernel_size=[5, 5],
        padding="same",
        activation=tf.nn.relu,
    )
    pool2 = tf.layers.max_pooling2d(inputs=conv2, pool_size=[2, 2], strides=2)
    pool2_flat = tf.reshape(pool2, [-1, 7 * 7 * 16])
    dense = tf.layers.dense(inputs=pool2_flat, units=32, activation=tf.nn.relu)
    dropout = tf.layers.dropout(
        inputs=dense, rate=0.4, training=mode == tf.estimator.ModeKeys.TRAIN
    )
    logits = tf.layers.dense(inputs=dropout, units=10)

    predictions = {
        "classes": tf.argmax(input=logits, axis=1),
        "probabilities": tf.nn.softmax(logits, name="softmax_tensor"),
    }
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode=mode, predictions=predictions)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    if mode == tf.estimator.ModeKeys.TRAIN:
        optimizer = tf.train.AdamOptimizer(learning_rate=0.003)
        train_op = optimizer.minimize(loss=loss, global_step=tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=train_op)
    eval_metric_ops = {
        "accuracy": tf.metrics.accuracy(
            labels=labels, predictions=predictions["classes"]
        )
    }
    return tf.estimator.EstimatorSpec(
        mode=mode, loss=loss, eval_metric_ops=eval_metric_ops
    )


def main(unused_argv):
    mnist = input_data.read_data_sets(FLAGS.data_dir)
    train_data = mnist.train.images
    train_labels = np.asarray(mnist.train.labels, dtype=np.int32)
    eval_data = mnist.test.images
    eval_labels = np.asarray(mnist.test.labels, dtype=np.int32)

    mnist_classifier = tf.estimator.Estimator(
        model_fn=cnn_model_fn, model_dir=FLAGS.model_dir
    )
    logging_hook = tf.train.LoggingTensorHook(
        tensors={"probabilities": "softmax_tensor"}, every_n_iter=50
    )
    train_input_fn = tf.estimator.inputs.numpy_input_fn(
        x={"x": train_data},
        y=train_labels,
        batch_size=50,
        num_epochs=None,
        shuffle=True,
    )
    mnist_classifier.train(
        input_fn=train_input_fn, steps=FLAGS.steps, hooks=[logging_hook]
    )
    eval_input_fn = tf.estimator.inputs.numpy_input_fn(
        x={"x": eval_data}, y=eval_labels, num_epochs=1, shuffle=False
    )
    eval_results = mnist_classifier.evaluate(input_fn=eval_input_fn)
    print("Accuracy:", eval_results["accuracy"])
    print("Steps:", eval_results["global_step"])
    predict_input_fn = tf.estimator.inputs.numpy_input_fn(
        x={"x": eval_data[:10]}, num_epochs=1, shuffle=False
    )
    predictions = list(mnist_classifier.predict(input_fn=predict_input_fn))
    print("Predicted:", len(predictions), predictions[0]["probabilities"].shape)

    # Another estimator goes on from the same folder.
    again = tf.estimator.Estimator(model_fn=cnn_model_fn, model_dir=FLAGS.model_dir)
    tf.estimator.train_and_evaluate(
        again,
        tf.estimator.TrainSpec(train_input_fn, max_steps=FLAGS.steps + 5),
        tf.estimator.EvalSpec(eval_input_fn, steps=None),
    )
    print("Steps in all:", again.get_variable_value("global_step"))


if __name__ == "__main__":
    tf.app.run()

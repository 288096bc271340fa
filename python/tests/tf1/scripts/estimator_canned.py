"""Estimators that are ready, with feature columns."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
count = 600
age = rng.uniform(17, 80, count).astype(np.float32)
hours = rng.uniform(0, 60, count).astype(np.float32)
city = rng.choice(["oslo", "rome", "lima"], count)
job = rng.randint(0, 4, count)
label = ((hours > 30) ^ (city == "rome")).astype(np.int32)
kind = np.where(hours > 40, 2, np.where(hours > 20, 1, 0)).astype(np.int32)
features = {"age": age, "hours": hours, "city": city, "job": job}

age_column = tf.feature_column.numeric_column(
    "age", normalizer_fn=lambda x: (x - 48.0) / 20.0
)
hours_column = tf.feature_column.numeric_column(
    "hours", normalizer_fn=lambda x: (x - 30.0) / 20.0
)
raw_hours = tf.feature_column.numeric_column("hours")
hours_buckets = tf.feature_column.bucketized_column(raw_hours, [20, 30, 40])
city_column = tf.feature_column.categorical_column_with_vocabulary_list(
    "city", ["oslo", "rome", "lima"]
)
job_column = tf.feature_column.categorical_column_with_identity("job", 4)
crossed = tf.feature_column.crossed_column([city_column, hours_buckets], 50)


def input_fn(y, epochs=None, shuffle=True):
    return tf.estimator.inputs.numpy_input_fn(
        features, y, batch_size=64, num_epochs=epochs, shuffle=shuffle
    )


linear = tf.estimator.LinearClassifier(
    [city_column, hours_buckets, crossed, age_column]
)
linear.train(input_fn(label), steps=150)
result = linear.evaluate(input_fn(label, 1, False))
print("Linear accuracy:", result["accuracy"], "auc:", result["auc"])

dnn = tf.estimator.DNNClassifier(
    hidden_units=[32, 16],
    feature_columns=[
        age_column,
        hours_column,
        tf.feature_column.indicator_column(city_column),
        tf.feature_column.embedding_column(job_column, dimension=4),
    ],
    n_classes=3,
    optimizer=tf.train.AdamOptimizer(0.01),
)
dnn.train(input_fn(kind), steps=200)
print("DNN accuracy:", dnn.evaluate(input_fn(kind, 1, False))["accuracy"])
first = next(dnn.predict(input_fn(None, 1, False)))
print("Prediction:", sorted(first), first["probabilities"].shape)

wide = tf.estimator.DNNLinearCombinedClassifier(
    linear_feature_columns=[crossed],
    dnn_feature_columns=[hours_column, tf.feature_column.indicator_column(city_column)],
    dnn_hidden_units=[16],
)
wide.train(input_fn(label), steps=150)
print("Wide accuracy:", wide.evaluate(input_fn(label, 1, False))["accuracy"])

price = (2 * hours + 5).astype(np.float32)
regressor = tf.estimator.LinearRegressor(
    [hours_column], optimizer=tf.train.GradientDescentOptimizer(0.005)
)
regressor.train(input_fn(price), steps=300)
print("Regression loss:", regressor.evaluate(input_fn(price, 1, False))["average_loss"])

"""tf.feature_column: from features by name to the inputs of a model.

A column makes a matrix [batch, width] of a feature. A text feature is rows of
bytes, as numpy_input_fn makes of arrays of text.
"""

import zlib

import numpy as np

import rondo as rd

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor as _convert
from ..framework.variable_scope import get_variable, variable_scope
from ._missing import getattr_of
from .text import padded_bytes

__getattr__ = getattr_of("tf.feature_column")


class Column:
    """The base: `dense(features)` is [batch, width]; `key` names the feature."""

    def __init__(self, key, width):
        self.key = key
        self.width = width

    @property
    def name(self):
        return self.key

    def dense(self, features):
        raise NotImplementedError

    def _feature(self, features):
        if self.key not in features:
            raise InvalidArgumentError(
                f'there is no feature "{self.key}"; there are {sorted(features)}'
            )
        return _convert(features[self.key])


class _Numeric(Column):
    def __init__(self, key, shape, default_value, normalizer_fn):
        super().__init__(key, int(np.prod(shape, dtype=np.int64)))
        self._normalizer_fn = normalizer_fn

    def dense(self, features):
        x = rd.cast(self._feature(features), "float32")
        if self._normalizer_fn is not None:
            x = self._normalizer_fn(x)
        return rd.reshape(x, [-1, self.width])


def numeric_column(
    key, shape=(1,), default_value=None, dtype="float32", normalizer_fn=None
):
    """Numbers, as they are."""
    shape = [shape] if isinstance(shape, int) else list(shape)
    return _Numeric(key, shape, default_value, normalizer_fn)


class Categorical(Column):
    """The base of columns of classes: `ids(features)` is int64 [batch, n], with -1
    for what has none."""

    def ids(self, features):
        raise NotImplementedError

    def one_hot(self, features):
        """[batch, n, width]."""
        return rd.one_hot(self.ids(features), self.width)

    def dense(self, features):
        return rd.reduce_sum(self.one_hot(features), 1)


class _Bucketized(Categorical):
    def __init__(self, source, boundaries):
        super().__init__(source.key, len(boundaries) + 1)
        self._source = source
        self._boundaries = np.asarray(boundaries, np.float32)

    @property
    def name(self):
        return self.key + "_bucketized"

    def ids(self, features):
        x = rd.expand_dims(self._source.dense(features), 2)
        above = rd.greater_equal(x, self._boundaries)
        return rd.reduce_sum(rd.cast(above, "int64"), 2)


def bucketized_column(source_column, boundaries):
    """The number of the interval between boundaries in which a number is."""
    return _Bucketized(source_column, boundaries)


class _Identity(Categorical):
    def __init__(self, key, num_buckets, default_value):
        super().__init__(key, num_buckets)
        self._default = default_value

    def ids(self, features):
        ids = rd.cast(self._feature(features), "int64")
        if ids.shape.ndims == 1:
            ids = rd.expand_dims(ids, 1)
        wrong = rd.logical_or(
            rd.less(ids, np.int64(0)),
            rd.greater_equal(ids, np.int64(self.width)),
        )
        if self._default is not None:
            return rd.where(wrong, rd.zeros_like(ids) + np.int64(self._default), ids)
        said = f'feature "{self.key}": a class that is not from 0 to {self.width - 1}'
        with rd.control_dependencies(
            [rd.Assert(rd.logical_not(rd.reduce_any(wrong)), [said])]
        ):
            return rd.identity(ids)


def categorical_column_with_identity(key, num_buckets, default_value=None):
    """Classes that are numbers already."""
    return _Identity(key, num_buckets, default_value)


class _Vocabulary(Categorical):
    def __init__(self, key, vocabulary, default_value, num_oov_buckets):
        super().__init__(key, len(vocabulary) + num_oov_buckets)
        self._vocabulary = list(vocabulary)
        self._default = default_value
        self._others = _Hashed(key, num_oov_buckets) if num_oov_buckets else None

    def ids(self, features):
        x = self._feature(features)
        if isinstance(self._vocabulary[0], (str, bytes)):
            same = self._same_text(x)
        else:
            if x.shape.ndims == 1:
                x = rd.expand_dims(x, 1)
            kind = x.dtype.as_numpy_dtype
            same = rd.equal(rd.expand_dims(x, 2), np.asarray(self._vocabulary, kind))
        found = rd.reduce_any(same, 2)
        at = rd.argmax(rd.cast(same, "float32"), 2)
        other = np.int64(self._default)
        if self._others is not None:
            other = self._others.ids(features) + np.int64(len(self._vocabulary))
        return rd.where(found, at, rd.zeros_like(at) + other)

    def _same_text(self, x):
        """bool [batch, 1, vocabulary]."""
        words = padded_bytes(self._vocabulary)
        width = x.shape[-1]
        if width is None:
            raise InvalidArgumentError(
                f'the text of feature "{self.key}" has no known width'
            )
        size = max(int(width), words.shape[1])
        words = np.pad(words, [(0, 0), (0, size - words.shape[1])])
        x = rd.pad(rd.reshape(x, [-1, int(width)]), [[0, 0], [0, size - int(width)]])
        return rd.expand_dims(
            rd.reduce_all(rd.equal(rd.expand_dims(x, 1), words), 2), 1
        )


def categorical_column_with_vocabulary_list(
    key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0
):
    """The place of a text or number in a list; for others default_value, or one of
    num_oov_buckets places behind it."""
    return _Vocabulary(key, vocabulary_list, default_value, num_oov_buckets)


def categorical_column_with_vocabulary_file(
    key, vocabulary_file, vocabulary_size=None, num_oov_buckets=0,
    default_value=None, dtype=None,
):  # fmt: skip
    """The place of a text among the lines of a file."""
    with open(vocabulary_file) as file:
        words = file.read().split("\n")[: vocabulary_size or None]
    words = [w for w in words if w]
    default = -1 if default_value is None else default_value
    return _Vocabulary(key, words, default, num_oov_buckets)


class _Hashed(Categorical):
    def __init__(self, key, size, sources=None):
        super().__init__(key, size)
        self._sources = sources

    def ids(self, features):
        if self._sources is None:
            parts = [self._feature(features)]
        else:
            parts = [_id_or_feature(s, features) for s in self._sources]

        def hashed(*arrays):
            out = np.empty((len(arrays[0]), 1), np.int64)
            for i in range(len(out)):
                text = b"\0".join(_row_bytes(a[i]) for a in arrays)
                out[i] = zlib.crc32(text) % self.width
            return out

        ids = rd.py_func(hashed, parts, "int64", name="hash")
        ids.set_shape([None, 1])
        return ids


def _row_bytes(row):
    row = np.asarray(row)
    if row.dtype == np.uint8:
        return row.tobytes().rstrip(b"\0")
    return repr(row.reshape(-1).tolist()).encode()


def _id_or_feature(source, features):
    if isinstance(source, str):
        return _convert(features[source])
    return source.ids(features)


def categorical_column_with_hash_bucket(key, hash_bucket_size, dtype=None):
    """A number from what a text or number is, so that other ones may share it."""
    return _Hashed(key, hash_bucket_size)


def crossed_column(keys, hash_bucket_size, hash_key=None):
    """A number from what several features are."""
    names = [k if isinstance(k, str) else k.name for k in keys]
    return _Hashed("_X_".join(sorted(names)), hash_bucket_size, list(keys))


class _Indicator(Column):
    def __init__(self, source):
        super().__init__(source.key, source.width)
        self._source = source

    @property
    def name(self):
        return self._source.name + "_indicator"

    def dense(self, features):
        return self._source.dense(features)


def indicator_column(categorical_column):
    """A 1 at the class."""
    return _Indicator(categorical_column)


class _Embedding(Column):
    def __init__(self, source, dimension, combiner, initializer, trainable):
        super().__init__(source.key, dimension)
        self._source = source
        self._combiner = combiner
        self._initializer = initializer
        self._trainable = trainable

    @property
    def name(self):
        return self._source.name + "_embedding"

    def dense(self, features, trainable=True):
        with variable_scope(self.name, reuse=rd.AUTO_REUSE):
            weights = get_variable(
                "embedding_weights",
                [self._source.width, self.width],
                initializer=self._initializer
                or rd.truncated_normal_initializer(0.0, 1 / np.sqrt(self.width)),
                trainable=self._trainable and trainable,
            )
        counts = self._source.dense(features)
        total = rd.matmul(counts, weights)
        if self._combiner == "sum":
            return total
        number = rd.maximum(rd.reduce_sum(counts, 1, keepdims=True), 1.0)
        if self._combiner == "sqrtn":
            number = rd.sqrt(number)
        return total / number


def embedding_column(
    categorical_column, dimension, combiner="mean", initializer=None,
    ckpt_to_load_from=None, tensor_name_in_ckpt=None, max_norm=None, trainable=True,
):  # fmt: skip
    """A vector for each class."""
    for name, value in (("ckpt_to_load_from", ckpt_to_load_from),
                        ("tensor_name_in_ckpt", tensor_name_in_ckpt),
                        ("max_norm", max_norm)):  # fmt: skip
        _refuse("embedding_column", name, value)
    if combiner not in ("mean", "sum", "sqrtn"):
        raise InvalidArgumentError(
            f'embedding_column: combiner is {combiner!r}; expected "mean", "sum" or '
            '"sqrtn"'
        )
    return _Embedding(categorical_column, dimension, combiner, initializer, trainable)


def _refuse(who, name, value):
    if value is not None:
        raise InvalidArgumentError(f"{who}: {name} is not supported")


def _listed(columns):
    return [columns] if isinstance(columns, Column) else list(columns)


def input_layer(features, feature_columns, weight_collections=None, trainable=True,
                cols_to_vars=None):  # fmt: skip
    """All columns as one matrix, ordered by name."""
    _refuse("input_layer", "weight_collections", weight_collections)
    _refuse("input_layer", "cols_to_vars", cols_to_vars)
    columns = sorted(_listed(feature_columns), key=lambda c: c.name)
    with variable_scope(None, "input_layer"):
        parts = []
        for column in columns:
            if isinstance(column, Categorical) and not isinstance(column, _Bucketized):
                raise InvalidArgumentError(
                    f'input_layer: the column "{column.name}" is of classes; wrap it '
                    "in indicator_column or embedding_column"
                )
            if isinstance(column, _Embedding):
                parts.append(column.dense(features, trainable))
            else:
                parts.append(column.dense(features))
        return rd.concat(parts, 1)


def linear_model(
    features, feature_columns, units=1, sparse_combiner="sum",
    weight_collections=None, trainable=True, cols_to_vars=None,
):  # fmt: skip
    """The sum of a product for each column, and a bias."""
    _refuse("linear_model", "weight_collections", weight_collections)
    _refuse("linear_model", "cols_to_vars", cols_to_vars)
    if sparse_combiner != "sum":
        raise InvalidArgumentError(
            f'linear_model: sparse_combiner {sparse_combiner!r}; there is "sum"'
        )
    columns = sorted(_listed(feature_columns), key=lambda c: c.name)
    with variable_scope(None, "linear_model"):
        products = []
        for column in columns:
            with variable_scope(column.name):
                weights = get_variable(
                    "weights",
                    [column.width, units],
                    initializer=rd.zeros_initializer(),
                    trainable=trainable,
                )
            products.append(rd.matmul(column.dense(features), weights))
        bias = get_variable(
            "bias_weights",
            [units],
            initializer=rd.zeros_initializer(),
            trainable=trainable,
        )
        return rd.nn.bias_add(rd.add_n(products), bias)

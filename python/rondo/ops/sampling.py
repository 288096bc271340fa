"""Losses over some of many classes: the right ones and a random sample.

A sampler gives (sampled, true_expected, sampled_expected): the classes of the
sample, and how often each right or sampled class is expected in such a sample.
"""

import math as _math

import numpy as np

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from . import array, math, matrix, nn
from .host_call import py_func


def log_uniform_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None
):
    """Classes where number k has the probability log((k + 2) / (k + 1)) /
    log(range_max + 1): right for words ordered by how often they occur."""
    scale = _math.log(range_max + 1)

    def draw(rng, count):
        drawn = np.exp(rng.random(count) * scale).astype(np.int64) - 1
        return np.minimum(drawn, range_max - 1)

    def probability(classes):
        return np.log((classes + 2.0) / (classes + 1.0)) / scale

    return _sampler(
        true_classes, num_true, num_sampled, unique, range_max, seed,
        name or "LogUniformCandidateSampler", draw, probability,
    )  # fmt: skip


def uniform_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None
):
    """Classes that all have the same probability."""
    return _sampler(
        true_classes, num_true, num_sampled, unique, range_max, seed,
        name or "UniformCandidateSampler",
        lambda rng, count: rng.integers(0, range_max, count),
        lambda classes: np.full(np.shape(classes), 1.0 / range_max),
    )  # fmt: skip


def _sampler(
    true_classes, num_true, num_sampled, unique, range_max, seed, name, draw,
    probability,
):  # fmt: skip
    if unique and num_sampled > range_max:
        raise InvalidArgumentError(
            f"{name}: {num_sampled} different classes of {range_max}"
        )
    true_classes = math.cast(convert_to_tensor(true_classes), "int64")
    graph = true_classes.graph
    seeds = [s for s in (graph.seed, seed) if s]
    rng = np.random.default_rng([*seeds, len(graph._core)] if seeds else None)

    def sample(true):
        if unique:
            sampled, tries = _different(rng, draw, num_sampled)

            def expected(classes):
                # One minus the probability that no try hits it.
                misses = tries * np.log1p(-probability(classes))
                return (-np.expm1(misses)).astype(np.float32)

        else:
            sampled = draw(rng, num_sampled)

            def expected(classes):
                return (probability(classes) * num_sampled).astype(np.float32)

        return sampled.astype(np.int64), expected(true), expected(sampled)

    sampled, true_expected, sampled_expected = py_func(
        sample, [true_classes], ["int64", "float32", "float32"], name=name
    )
    sampled.set_shape([num_sampled])
    sampled_expected.set_shape([num_sampled])
    true_expected.set_shape(true_classes.shape)
    return sampled, true_expected, sampled_expected


def _different(rng, draw, count):
    """(so many different classes, how many were drawn for that)."""
    found, tries = {}, 0
    while len(found) < count:
        for one in draw(rng, count).tolist():
            if len(found) == count:
                break
            tries += 1
            found.setdefault(one)
    return np.array(list(found), np.int64), tries


def nce_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=False,
    partition_strategy="mod",
    name="nce_loss",
):
    """Noise-contrastive estimation: per example, the loss of telling its right
    classes from a sample of others. weights are [classes, depth], labels
    [batch, num_true], inputs [batch, depth]."""
    logits, targets = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true,
        sampled_values, remove_accidental_hits, name,
    )  # fmt: skip
    losses = nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits)
    return math.reduce_sum(losses, 1)


def sampled_softmax_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=True,
    partition_strategy="mod",
    name="sampled_softmax_loss",
    seed=None,
):
    """Per example, the cross-entropy of a softmax over its right classes and a
    sample of others. Arguments are as of nce_loss."""
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            labels, num_true, num_sampled, True, num_classes, seed
        )
    logits, targets = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true,
        sampled_values, remove_accidental_hits, name,
    )  # fmt: skip
    return nn.softmax_cross_entropy_with_logits(
        labels=array.stop_gradient(targets), logits=logits
    )


def _sampled_logits(
    weights, biases, labels, inputs, num_sampled, num_classes, num_true,
    sampled_values, remove_accidental_hits, name,
):  # fmt: skip
    """(logits, targets) [batch, num_true + num_sampled]."""
    if isinstance(weights, (list, tuple)):
        if len(weights) != 1:
            raise InvalidArgumentError(f"{name}: weights in several parts: join them")
        weights = weights[0]
    inputs = convert_to_tensor(inputs)
    with inputs.graph.name_scope(name):
        labels = math.cast(convert_to_tensor(labels, graph=inputs.graph), "int64")
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                labels, num_true, num_sampled, True, num_classes
            )
        sampled, true_expected, sampled_expected = [
            array.stop_gradient(x) for x in sampled_values
        ]
        flat = array.reshape(labels, [-1])
        # One lookup for both: its gradient is one sparse update.
        classes = array.concat([flat, sampled], 0)
        count = array.shape(flat)[0]
        rows = nn.embedding_lookup(weights, classes)
        shifts = nn.embedding_lookup(biases, classes)
        depth = inputs.shape[1]
        true_rows = array.reshape(rows[:count], [-1, num_true, depth])
        right = math.reduce_sum(true_rows * array.expand_dims(inputs, 1), 2)
        right = right + array.reshape(shifts[:count], [-1, num_true])
        other = matrix.matmul(inputs, rows[count:], transpose_b=True) + shifts[count:]
        if remove_accidental_hits:
            hit = math.equal(
                array.expand_dims(labels, 2), array.reshape(sampled, [1, 1, -1])
            )
            hit = math.cast(math.reduce_any(hit, 1), inputs.dtype)
            other = other - hit * 1e30
        right = right - math.log(math.cast(true_expected, inputs.dtype))
        other = other - math.log(math.cast(sampled_expected, inputs.dtype))
        logits = array.concat([right, other], 1)
        targets = array.concat(
            [array.ones_like(right) / float(num_true), array.zeros_like(other)], 1
        )
        return logits, targets


__all__ = [
    "log_uniform_candidate_sampler",
    "nce_loss",
    "sampled_softmax_loss",
    "uniform_candidate_sampler",
]

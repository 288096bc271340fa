"""tf.contrib.seq2seq: the loss of sequences."""

import rondo as rd

from ...ops import nn as _nn
from .._missing import getattr_of

__getattr__ = getattr_of("tf.contrib.seq2seq")


def sequence_loss(
    logits, targets, weights, average_across_timesteps=True,
    average_across_batch=True, softmax_loss_function=None, name=None,
):  # fmt: skip
    """The weighted cross-entropy of logits [batch, steps, classes]."""
    classes = logits.shape[2]
    loss_of = softmax_loss_function or _nn.sparse_softmax_cross_entropy_with_logits
    flat = loss_of(
        labels=rd.reshape(targets, [-1]), logits=rd.reshape(logits, [-1, classes])
    )
    losses = rd.reshape(flat, rd.shape(targets)) * weights
    if average_across_timesteps and average_across_batch:
        return rd.reduce_sum(losses) / (rd.reduce_sum(weights) + 1e-12)
    axis = 1 if average_across_timesteps else 0
    if not average_across_timesteps and not average_across_batch:
        return losses
    return rd.reduce_sum(losses, axis) / (rd.reduce_sum(weights, axis) + 1e-12)

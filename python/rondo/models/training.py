"""What training any of the models needs."""

from .. import nn
from ..framework.build import convert_to_tensor
from ..framework.graph import GraphKeys
from ..framework.variable import group
from ..ops import array, math


def loss(labels, logits, name="loss"):
    """The mean cross-entropy of logits [..., classes] and the right classes [...]."""
    logits = convert_to_tensor(logits)
    labels = convert_to_tensor(labels)
    if logits.shape.ndims != 2:
        logits = array.reshape(logits, [-1, logits.shape[-1]])
        labels = array.reshape(labels, [-1])
    losses = nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return math.reduce_mean(losses, name=name)


def train_op(optimizer, value, global_step=None):
    """An operation that makes one step: the optimizer's on the loss `value`, and
    the updates of UPDATE_OPS."""
    updates = value.graph.get_collection(GraphKeys.UPDATE_OPS)
    return group(optimizer.minimize(value, global_step), *updates, name="train")

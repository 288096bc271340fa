"""What metrics are made of: sums over many batches."""

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..framework.graph import GraphKeys, get_default_graph
from ..framework.variable import Variable
from ..ops import array, math


def _local(name, shape=(), dtype="float32"):
    keys = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    zero = array.zeros(list(shape), dtype)
    return Variable(zero, trainable=False, collections=keys, name=name)


def divided(total, count):
    """0 where there is nothing to divide by."""
    none = math.equal(count, 0.0)
    safe = array.where(none, array.ones_like(count), count)
    return array.where(none, array.zeros_like(count), total / safe)


def as_float(x):
    return math.cast(convert_to_tensor(x), "float32")


def _squeezed(x, rank):
    """Without its last axis, where that is of extent 1 and one more than `rank`."""
    one_more = None not in (x.shape.ndims, rank) and x.shape.ndims == rank + 1
    if one_more and x.shape[-1] in (1, None):
        return array.squeeze(x, [-1])
    return x


def aligned(labels, predictions, who):
    """Both in one shape: else they would be broadcast, each against each."""
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    labels = _squeezed(labels, predictions.shape.ndims)
    predictions = _squeezed(predictions, labels.shape.ndims)
    if not labels.shape.is_compatible_with(predictions.shape):
        raise InvalidArgumentError(
            f"{who}: labels of shape {labels.shape} and predictions of shape "
            f"{predictions.shape}; expected the same shape"
        )
    return labels, predictions


def spread(weights, like):
    """The weights in the shape of what they weigh."""
    weights = _squeezed(as_float(weights), like.shape.ndims)
    ranks = weights.shape.ndims, like.shape.ndims
    if None not in ranks and ranks[0] > ranks[1]:
        raise InvalidArgumentError(
            f"weights of shape {weights.shape} for values of shape {like.shape}; "
            "expected the same shape, or one weight for each row"
        )
    if weights.shape.ndims:
        for _ in range((ranks[1] or 0) - ranks[0]):
            weights = array.expand_dims(weights, -1)
    return array.zeros_like(like) + weights


class Pair:
    """A metric made of sums: what it is, and what it is with this batch."""

    def __init__(self, name, default):
        self._graph = get_default_graph()
        self._name = name or default

    def scope(self):
        return self._graph.name_scope(self._name)

    def add(self, label, delta):
        """A sum; gives (what it is, what it is with this batch)."""
        delta = as_float(delta)
        if not delta.shape.is_fully_defined():
            raise InvalidArgumentError(
                f"{self._name}: the shape of a sum, {delta.shape}, must be known"
            )
        total = _local(label, delta.shape.as_list())
        now = total.assign_add(delta)
        return total, now

    def result(self, function, pairs, collections):
        before = function(*[total for total, _ in pairs])
        after = function(*[now for _, now in pairs])
        return self.collected(before, after, collections)

    def collected(self, before, after, collections):
        metrics, updates = collections
        if metrics:
            self._graph.add_to_collections(metrics, before)
        if updates:
            self._graph.add_to_collections(updates, after)
        return before, after

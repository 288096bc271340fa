"""A transformer that predicts the next token, after GPT-2 (Radford et al., 2019)."""

from .. import initializers, layers, nn
from ..errors import InvalidArgumentError
from ..framework.variable_scope import AUTO_REUSE, get_variable, variable_scope
from ..ops import array, matrix


class GPT:
    """`layers` blocks of causal attention with `heads` heads and a perceptron, each
    after a layer norm and added to its input. The embedding of the `vocabulary` is
    also what gives the logits.

    Input: tokens, integers [batch, places], with as many places as `places` or
    fewer.
    """

    def __init__(
        self,
        vocabulary=50257,
        layers=12,
        width=768,
        heads=12,
        places=1024,
        dropout=0.0,
        name="gpt",
    ):
        if width % heads:
            raise InvalidArgumentError(
                f"GPT: width {width} must be a multiple of heads, {heads}"
            )
        self.vocabulary = vocabulary
        self.layers = layers
        self.width = width
        self.heads = heads
        self.places = places
        self.dropout = dropout
        self.name = name

    def __call__(self, tokens, training=False):
        """The logits of the next token at each place, [batch, places, vocabulary]."""
        places = self._places_of(tokens)
        start = initializers.random_normal(stddev=0.02)
        with variable_scope(self.name, reuse=AUTO_REUSE, initializer=start):
            words = get_variable("words", [self.vocabulary, self.width])
            where = get_variable("places", [self.places, self.width])
            x = nn.embedding_lookup(words, tokens)
            x = self._drop(x + where[:places], training)
            # One row per token, whatever the batch, but for attention.
            x = array.reshape(x, [-1, self.width])
            for i in range(1, self.layers + 1):
                with variable_scope(f"block{i}"):
                    x = self._block(x, places, training)
            x = self._norm(x, "norm")
            logits = matrix.matmul(x, words, transpose_b=True)
            return array.reshape(logits, [-1, places, self.vocabulary])

    def _places_of(self, tokens):
        places = tokens.shape[1] if tokens.shape.ndims == 2 else None
        if places is None or places > self.places:
            raise InvalidArgumentError(
                f"GPT: tokens of shape {tokens.shape}: the second axis must be known "
                f"and not above {self.places}"
            )
        return places

    def _block(self, x, places, training):
        y = self._attention(self._norm(x, "norm1"), places)
        x = x + self._drop(y, training)
        y = layers.dense(self._norm(x, "norm2"), 4 * self.width, name="up")
        y = layers.dense(nn.gelu(y, approximate=True), self.width, name="down")
        return x + self._drop(y, training)

    def _attention(self, x, places):
        depth = self.width // self.heads
        x = layers.dense(x, 3 * self.width, name="query_key_value")
        x = array.reshape(x, [-1, places, 3, self.heads, depth])
        query, key, value = array.unstack(array.transpose(x, [2, 0, 3, 1, 4]))
        x = nn.scaled_dot_product_attention(query, key, value, causal=True)
        x = array.reshape(array.transpose(x, [0, 2, 1, 3]), [-1, self.width])
        return layers.dense(x, self.width, name="projection")

    def _norm(self, x, name):
        with variable_scope(name):
            gamma = get_variable("gamma", [self.width], initializer=initializers.ones())
            beta = get_variable("beta", [self.width], initializer=initializers.zeros())
            return nn.layer_norm(x, gamma, beta)

    def _drop(self, x, training):
        return layers.dropout(x, self.dropout, training=training) if self.dropout else x

"""The models of rondo.models in PyTorch, with the same sizes and names.

A module's path is the path of the scope in Rondo, so that `weights` can tell which
parameter is which variable.
"""

import torch
import torch.nn.functional as F
from torch import nn


class MLP(nn.Module):
    def __init__(self, features, units, classes):
        super().__init__()
        sizes = (features, *units)
        self.dense = [f"dense{i}" for i in range(1, len(sizes))]
        for name, before, after in zip(self.dense, sizes, sizes[1:], strict=False):
            self.add_module(name, nn.Linear(before, after))
        self.logits = nn.Linear(sizes[-1], classes)

    def forward(self, x):
        for name in self.dense:
            x = F.relu(self.get_submodule(name)(x))
        return self.logits(x)


class LeNet(nn.Module):
    def __init__(self, size, channels, filters, units, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, filters[0], 5, padding=2)
        self.conv2 = nn.Conv2d(filters[0], filters[1], 5, padding=2)
        self.flattened = {"dense1": (filters[1], size // 4, size // 4)}
        self.dense1 = nn.Linear(filters[1] * (size // 4) ** 2, units)
        self.logits = nn.Linear(units, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.logits(F.relu(self.dense1(x.flatten(1))))


class VGG(nn.Module):
    def __init__(self, size, stacks, units, classes, dropout):
        super().__init__()
        self.stacks, channels = [], 3
        for i, (convolutions, filters) in enumerate(stacks, 1):
            self.stacks.append([f"conv{i}_{j}" for j in range(1, convolutions + 1)])
            for name in self.stacks[-1]:
                self.add_module(name, nn.Conv2d(channels, filters, 3, padding=1))
                channels = filters
        side = size >> len(stacks)
        self.flattened = {"dense1": (channels, side, side)}
        self.dense1 = nn.Linear(channels * side * side, units)
        self.dense2 = nn.Linear(units, units)
        self.logits = nn.Linear(units, classes)
        self.dropout = dropout

    def forward(self, x):
        for stack in self.stacks:
            for name in stack:
                x = F.relu(self.get_submodule(name)(x), inplace=True)
            x = F.max_pool2d(x, 2)
        x = x.flatten(1)
        for dense in (self.dense1, self.dense2):
            x = F.relu(dense(x), inplace=True)
            x = F.dropout(x, self.dropout, self.training)
        return self.logits(x)


class ConvNorm(nn.Module):
    def __init__(self, channels, filters, size, stride):
        super().__init__()
        self.conv = nn.Conv2d(
            channels, filters, size, stride, padding=size // 2, bias=False
        )
        self.norm = nn.BatchNorm2d(filters)

    def forward(self, x):
        return self.norm(self.conv(x))


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1 = ConvNorm(channels, width, 1, 1)
        self.conv2 = ConvNorm(width, width, 3, stride)
        self.conv3 = ConvNorm(width, 4 * width, 1, 1)
        same = stride == 1 and channels == 4 * width
        self.shortcut = None if same else ConvNorm(channels, 4 * width, 1, stride)

    def forward(self, x):
        y = F.relu(self.conv1(x), inplace=True)
        y = F.relu(self.conv2(y), inplace=True)
        y = self.conv3(y)
        y += x if self.shortcut is None else self.shortcut(x)
        return F.relu(y, inplace=True)


class ResNet(nn.Module):
    def __init__(self, blocks, width, classes):
        super().__init__()
        self.stem = ConvNorm(3, width, 7, 2)
        self.blocks, channels = [], width
        for group, count in enumerate(blocks):
            for block in range(count):
                name = f"block{group + 1}_{block + 1}"
                stride = 2 if group > 0 and block == 0 else 1
                self.add_module(name, Bottleneck(channels, width << group, stride))
                self.blocks.append(name)
                channels = 4 * (width << group)
        self.logits = nn.Linear(channels, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x), inplace=True), 3, 2, 1)
        for name in self.blocks:
            x = self.get_submodule(name)(x)
        return self.logits(x.mean((2, 3)))


class LSTM(nn.Module):
    def __init__(self, features, units, classes):
        super().__init__()
        self.layer1 = nn.LSTM(features, units, batch_first=True)
        self.logits = nn.Linear(units, classes)

    def forward(self, x):
        outputs, _ = self.layer1(x)
        return self.logits(outputs[:, -1])


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def attention(self, x):
        batch, places, width = x.shape
        x = self.query_key_value(x)
        x = x.view(batch, places, 3, self.heads, width // self.heads)
        query, key, value = x.permute(2, 0, 3, 1, 4).unbind(0)
        x = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.projection(x.transpose(1, 2).reshape(batch, places, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        y = F.gelu(self.up(self.norm2(x)), approximate="tanh")
        return x + self.down(y)


class GPT(nn.Module):
    def __init__(self, vocabulary, layers, width, heads, places):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(places, width)
        for embedding in (self.words, self.places):
            nn.init.normal_(embedding.weight, std=0.02)
        self.blocks = [f"block{i}" for i in range(1, layers + 1)]
        for name in self.blocks:
            self.add_module(name, Block(width, heads))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for name in self.blocks:
            x = self.get_submodule(name)(x)
        return F.linear(self.norm(x), self.words.weight)


def loss(logits, labels):
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


def _swapped(rows):
    """Gates in PyTorch's order, of Rondo's: input, candidate, forget, output."""
    i, g, f, o = rows.chunk(4)
    return torch.cat([i, f, g, o])


def weights(model, arrays):
    """{the parameter's name: the tensor} for {the variable's name: the array}.

    Works on gradients as well. Names are those below the model's own scope.
    """
    found = {}
    flattened = getattr(model, "flattened", {})
    for name, array in arrays.items():
        path, _, what = name.rpartition("/")
        path = path.replace("/", ".")
        tensor = torch.from_numpy(array.copy())
        if what in ("kernel_x", "kernel_h"):
            side = "ih" if what == "kernel_x" else "hh"
            found[f"{path}.weight_{side}_l0"] = _swapped(tensor.T).contiguous()
        elif what == "bias" and path.startswith("layer"):
            found[f"{path}.bias_ih_l0"] = _swapped(tensor)
        elif what == "kernel" and tensor.ndim == 4:
            found[f"{path}.weight"] = tensor.permute(3, 2, 0, 1).contiguous()
        elif what == "kernel":
            if path in flattened:
                # Rondo's rows are in the order height, width, channels.
                channels, height, width = flattened[path]
                rows = tensor.view(height, width, channels, -1)
                tensor = rows.permute(2, 0, 1, 3).reshape(tensor.shape)
            found[f"{path}.weight"] = tensor.T.contiguous()
        elif what in ("gamma", "words", "places"):
            found[f"{path}.weight" if path else f"{what}.weight"] = tensor
        else:
            found[f"{path}.bias"] = tensor
    return found

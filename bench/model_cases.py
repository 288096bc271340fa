"""The models that bench/models measures: sizes, data, and one training step each.

A Case says how large a model and its data are. RondoTrainer and TorchTrainer make
the same model in each system; `step()` makes one training step (forward, backward,
SGD with momentum) on the case's data and gives the loss.
"""

import dataclasses

import numpy as np

RATE, MOMENTUM = 0.001, 0.9


@dataclasses.dataclass(frozen=True)
class Case:
    """A model by the name of its class, which sizes, and one batch of data."""

    title: str
    model: str
    sizes: dict
    batch: int
    shape: tuple  # of one example, images with their channels last
    classes: int
    steps: int  # of one round
    dropout: float = 0.0
    # How far gradients of the two systems may be apart, by their largest element.
    tolerance: float = 1e-3

    @property
    def images(self):
        return self.model in ("LeNet", "VGG", "ResNet")

    @property
    def tokens(self):
        return self.model == "GPT"

    def data(self, seed=1):
        """One batch: inputs and labels."""
        rng = np.random.default_rng(seed)
        shape = (self.batch, *self.shape)
        if self.tokens:
            text = rng.integers(0, self.classes, (self.batch, self.shape[0] + 1))
            return np.ascontiguousarray(text[:, :-1]), np.ascontiguousarray(text[:, 1:])
        inputs = rng.random(shape, np.float32)
        return inputs, rng.integers(0, self.classes, self.batch)


VGG16 = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))


def cases(vocabulary=8192):
    """The cases of the comparison, by name."""
    gpt = {"layers": 6, "width": 384, "heads": 6, "places": 256}
    return {
        "mlp": Case(
            "MLP 784-1024-1024-10, batch 128",
            "MLP",
            {"units": (1024, 1024)},
            128,
            (784,),
            10,
            20,
        ),
        "lenet": Case(
            "LeNet, batch 128",
            "LeNet",
            {"filters": (32, 64), "units": 128},
            128,
            (28, 28, 1),
            10,
            10,
        ),
        "resnet50": Case(
            "ResNet-50, 224x224, batch 8",
            "ResNet",
            {"blocks": (3, 4, 6, 3), "width": 64},
            8,
            (224, 224, 3),
            1000,
            2,
            # So far either is from the gradients in double precision.
            tolerance=0.1,
        ),
        "vgg16": Case(
            "VGG-16, 224x224, batch 8",
            "VGG",
            {"stacks": VGG16, "units": 4096},
            8,
            (224, 224, 3),
            1000,
            1,
            dropout=0.5,
        ),
        "lstm": Case(
            "LSTM 128 units, 28 steps of 28, batch 128",
            "LSTM",
            {"units": 128},
            128,
            (28, 28),
            10,
            10,
        ),
        "gpt": Case(
            f"GPT 6 layers x 384, 6 heads, 256 tokens of {vocabulary}, batch 4",
            "GPT",
            {**gpt, "vocabulary": vocabulary},
            4,
            (256,),
            vocabulary,
            2,
        ),
    }


def small_cases():
    """The same models, small enough to compare their numbers in a test."""
    gpt = {"layers": 2, "width": 16, "heads": 2, "places": 8, "vocabulary": 32}
    return {
        "mlp": Case("MLP", "MLP", {"units": (16, 12)}, 4, (10,), 5, 1),
        "lenet": Case(
            "LeNet", "LeNet", {"filters": (4, 6), "units": 8}, 3, (12, 12, 1), 5, 1
        ),
        "resnet50": Case(
            "ResNet", "ResNet", {"blocks": (1, 2), "width": 4}, 4, (32, 32, 3), 5, 1
        ),
        "vgg16": Case(
            "VGG",
            "VGG",
            {"stacks": ((1, 4), (2, 6)), "units": 8},
            3,
            (12, 12, 3),
            5,
            1,
        ),
        "lstm": Case("LSTM", "LSTM", {"units": 6}, 3, (5, 4), 5, 1),
        "gpt": Case("GPT", "GPT", gpt, 2, (6,), 32, 1),
    }


class RondoTrainer:
    """A case in Rondo."""

    def __init__(
        self,
        case,
        inter=1,
        intra=2,
        layout="NHWC",
        rate=RATE,
        config=None,
        strategy=None,
    ):
        import rondo as rd
        from rondo import models

        rd.reset_default_graph()
        rd.set_random_seed(1)
        options = {} if case.tokens else {"classes": case.classes}
        call = {"training": True} if case.images else {}
        if case.images:
            options["data_format"] = layout
        if case.model == "VGG":
            options["dropout"] = case.dropout
        inputs, labels = case.data()
        if case.images and layout == "NCHW":
            inputs = np.ascontiguousarray(inputs.transpose(0, 3, 1, 2))
        self.x = rd.placeholder(
            rd.int64 if case.tokens else rd.float32, list(inputs.shape), name="x"
        )
        self.y = rd.placeholder(rd.int64, list(labels.shape), name="y")
        self.model = getattr(models, case.model)(**case.sizes, **options)
        self.loss = models.loss(self.y, self.model(self.x, **call))
        optimizer = rd.train.MomentumOptimizer(rate, MOMENTUM)
        if strategy:
            optimizer = strategy.distribute(optimizer)
        self.train = models.train_op(optimizer, self.loss)
        self.feeds = {self.x: inputs, self.y: labels}
        self.variables = rd.trainable_variables()
        config = config or rd.ConfigProto(
            inter_op_parallelism_threads=inter, intra_op_parallelism_threads=intra
        )
        self.session = rd.Session(config=config)
        begin = strategy.initializer if strategy else rd.global_variables_initializer
        self.session.run(begin())

    def step(self):
        return float(self.session.run([self.loss, self.train], self.feeds)[0])

    def trace(self, path):
        """One step, with the times of its operations in a file."""
        self.session.run([self.loss, self.train], self.feeds, trace=path)

    def weights(self):
        """{name below the model's scope: array}."""
        return self._named(self.session.run(list(self.variables)))

    def gradients(self):
        """The loss, and the gradients by name."""
        import rondo as rd

        grads = [
            rd.convert_to_tensor(g) for g in rd.gradients(self.loss, self.variables)
        ]
        loss, arrays = self.session.run([self.loss, grads], self.feeds)
        return float(loss), self._named(arrays)

    def _named(self, arrays):
        prefix = self.model.name + "/"
        names = [v.op.name.removeprefix(prefix) for v in self.variables]
        return dict(zip(names, arrays, strict=True))


class TorchTrainer:
    """A case in PyTorch: in its own layout of images or channels last, eager or
    compiled, alone or distributed over the ranks of the process group."""

    def __init__(
        self, case, threads=2, channels_last=False, compiled=False, distributed=False
    ):
        import torch
        import torch_models

        torch.set_num_threads(threads)
        torch.manual_seed(1)
        sizes = dict(case.sizes)
        if not case.tokens:
            sizes["classes"] = case.classes
        if case.model in ("LeNet", "VGG"):
            sizes["size"] = case.shape[0]
        if case.model == "LeNet":
            sizes["channels"] = case.shape[2]
        if case.model == "VGG":
            sizes["dropout"] = case.dropout
        if case.model in ("MLP", "LSTM"):
            sizes["features"] = case.shape[-1]
        self.model = getattr(torch_models, case.model)(**sizes)
        inputs, labels = case.data()
        self.x, self.y = torch.from_numpy(inputs), torch.from_numpy(labels)
        if case.images:
            self.x = self.x.permute(0, 3, 1, 2)
            kind = torch.channels_last if channels_last else torch.contiguous_format
            self.x = self.x.contiguous(memory_format=kind)
            self.model = self.model.to(memory_format=kind)
        self.run = torch.compile(self.model) if compiled else self.model
        if distributed:
            self.run = torch.nn.parallel.DistributedDataParallel(self.run)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=RATE, momentum=MOMENTUM
        )
        self.loss = torch_models.loss

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.run(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def gradients(self, arrays):
        """The loss with these weights of Rondo's, and the gradients by name."""
        import torch
        import torch_models

        named = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, tensor in torch_models.weights(self.model, arrays).items():
                named.pop(name).copy_(tensor)
            # PyTorch's LSTM has a second bias, where Rondo's forget gate has 1.
            for name, left in named.items():
                if not name.endswith("bias_hh_l0"):
                    raise ValueError(f"{name} has no counterpart in Rondo's model")
                units = left.numel() // 4
                left.zero_()[units : 2 * units] = 1
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.run(self.x), self.y)
        loss.backward()
        grads = {name: p.grad for name, p in self.model.named_parameters()}
        return loss.item(), grads


def check(case, layout="NHWC", threads=2):
    """Compares the loss and all gradients of the two systems for the same weights;
    gives the largest difference of a gradient, relative to its largest element.
    Raises ValueError where they differ by more than the case's tolerance."""
    import torch_models

    tolerance = case.tolerance

    case = dataclasses.replace(case, dropout=0.0)
    rondo = RondoTrainer(case, intra=threads, layout=layout)
    torch = TorchTrainer(case, threads)
    if layout == "NCHW":
        torch.model.flattened = {}
    loss, grads = rondo.gradients()
    peer_loss, peer_grads = torch.gradients(rondo.weights())
    if abs(loss - peer_loss) > 1e-3 * max(1.0, abs(peer_loss)):
        raise ValueError(f"the loss is {loss} in Rondo and {peer_loss} in PyTorch")
    worst = 0.0
    largest = max(float(g.abs().max()) for g in peer_grads.values())
    for name, grad in torch_models.weights(torch.model, grads).items():
        peer = peer_grads[name]
        scale = max(float(peer.abs().max()), 1e-3 * largest)
        difference = float((grad - peer).abs().max()) / scale
        if not difference <= tolerance:
            raise ValueError(
                f"the gradients of {name} differ by {difference:.2g} of their largest"
            )
        worst = max(worst, difference)
    return worst

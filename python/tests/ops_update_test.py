"""Optimizer updates against the same arithmetic in NumPy."""

import numpy as np
import pytest
from graph_ops import compared

import rondo
from rondo import _core

RATES = {
    "ApplyGradientDescent": ["learning_rate"],
    "ApplyMomentum": ["learning_rate", "momentum"],
    "ApplyAdagrad": ["learning_rate", "epsilon"],
    "ApplyRMSProp": ["learning_rate", "rho", "momentum", "epsilon"],
    "ApplyAdam": [
        "learning_rate", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power",
    ],
    "ApplyAdamW": [
        "learning_rate", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power",
        "weight_decay",
    ],
}  # fmt: skip


def gradient_descent(p, g, s, r):
    return p - r["learning_rate"] * g, s


def momentum(p, g, s, r):
    v = r["momentum"] * s[0] + g
    return p - r["learning_rate"] * v, [v]


def nesterov(p, g, s, r):
    v = r["momentum"] * s[0] + g
    return p - r["learning_rate"] * (g + r["momentum"] * v), [v]


def adagrad(p, g, s, r):
    a = s[0] + g * g
    return p - r["learning_rate"] * g / (np.sqrt(a) + r["epsilon"]), [a]


def rms_prop(p, g, s, r):
    square = r["rho"] * s[0] + (1 - r["rho"]) * g * g
    slots = [square]
    if len(s) == 3:
        mean = r["rho"] * s[2] + (1 - r["rho"]) * g
        square = square - mean * mean
    v = r["momentum"] * s[1] + r["learning_rate"] * g / np.sqrt(square + r["epsilon"])
    slots.append(v)
    if len(s) == 3:
        slots.append(mean)
    return p - v, slots


def adam(p, g, s, r):
    m = r["beta1"] * s[0] + (1 - r["beta1"]) * g
    v = r["beta2"] * s[1] + (1 - r["beta2"]) * g * g
    rate = r["learning_rate"] * np.sqrt(1 - r["beta2_power"]) / (1 - r["beta1_power"])
    p = p * (1 - r["learning_rate"] * r.get("weight_decay", 0))
    return p - rate * m / (np.sqrt(v) + r["epsilon"]), [m, v]


CASES = [
    ("ApplyGradientDescent", 0, {}, gradient_descent),
    ("ApplyMomentum", 1, {}, momentum),
    ("ApplyMomentum", 1, {"use_nesterov": True}, nesterov),
    ("ApplyAdagrad", 1, {}, adagrad),
    ("ApplyRMSProp", 2, {}, rms_prop),
    ("ApplyRMSProp", 3, {}, rms_prop),
    ("ApplyAdam", 2, {}, adam),
    ("ApplyAdamW", 2, {}, adam),
]


class Model:
    """A variable with slots, and nodes that set and read them."""

    def __init__(self, arrays):
        self.graph = _core.Graph()
        self.arrays = arrays
        self.attrs = {"dtype": arrays[0].dtype, "shape": list(arrays[0].shape)}
        self.names = [f"v{i}" for i in range(len(arrays))]
        self.session = _core.Session(self.graph)
        sets = []
        for name, array in zip(self.names, arrays, strict=True):
            value = self.constant(array)
            attrs = {
                "variable": name,
                "dtype": array.dtype,
                "shape": list(array.shape),
            }
            sets.append(self.graph.add("Assign", [value], attrs).outputs[0])
        self.session.run(sets, [])

    def constant(self, array):
        return self.graph.add("Const", [], {"value": array}).outputs[0]

    def apply(self, op, inputs, **attrs):
        attrs |= {"variable": "v0", "slots": self.names[1:], **self.attrs}
        node = self.graph.add(op, [self.constant(x) for x in inputs], attrs)
        result = self.session.run(node.outputs, [])[0][0]
        compared(self.graph, op)
        return result

    def read(self):
        reads = [
            self.graph.add("Variable", [], {"variable": name, **self.attrs}).outputs[0]
            for name in self.names
        ]
        return self.session.run(reads, [])[0]


def rates_of(op, rng):
    rates = {name: rng.uniform(0.05, 0.95) for name in RATES[op]}
    return rates, [np.float32(x) for x in rates.values()]


@pytest.mark.parametrize("op,slots,attrs,wanted", CASES)
@pytest.mark.parametrize(
    "dtype,tolerance", [(np.float64, 1e-6), (np.float32, 3e-6), (np.float16, 6e-3)]
)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7, 3), (33, 70, 29)])
def test_dense(op, slots, attrs, wanted, dtype, tolerance, shape):
    rng = np.random.default_rng(len(op) + sum(shape))
    arrays = [rng.uniform(0.5, 2, shape).astype(dtype) for _ in range(1 + slots)]
    if slots == 3:  # a variance is not negative
        arrays[1], arrays[3] = arrays[1] + dtype(4), arrays[3] / dtype(4)
    model = Model([np.asarray(a, dtype) for a in arrays])
    exact = [a.astype(np.float64) for a in arrays]
    for _ in range(2):
        gradient = np.asarray(rng.normal(size=shape)).astype(dtype)
        rates, scalars = rates_of(op, rng)
        got = model.apply(op, [gradient, *scalars], **attrs)
        p, s = wanted(exact[0], gradient.astype(np.float64), exact[1:], rates)
        exact = [p, *s]
        np.testing.assert_allclose(got, p, rtol=tolerance, atol=tolerance)
    for a, b in zip(model.read(), exact, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("op,slots,attrs,wanted", CASES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("count", [0, 1, 6, 500])
def test_sparse(op, slots, attrs, wanted, index, count):
    rng = np.random.default_rng(count)
    shape = (40, 3, 2)
    arrays = [rng.uniform(0.5, 2, shape).astype(np.float32) for _ in range(1 + slots)]
    if slots == 3:
        arrays[1] += 400
    model = Model(arrays)
    exact = [a.astype(np.float64) for a in arrays]
    indices = rng.integers(0, 40, count).astype(index)
    rows = rng.normal(size=(count, 3, 2)).astype(np.float32)
    rates, scalars = rates_of(op, rng)
    model.apply("Sparse" + op, [rows, indices, *scalars], **attrs)
    summed = np.zeros(shape)
    np.add.at(summed, indices, rows.astype(np.float64))
    touched = np.unique(indices)
    p, s = wanted(
        exact[0][touched], summed[touched], [x[touched] for x in exact[1:]], rates
    )
    for old, new in zip(exact, [p, *s], strict=True):
        old[touched] = new
    for got, want in zip(model.read(), exact, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


def test_bad_arguments():
    model = Model([np.ones((3, 2), np.float32)])
    one = np.float32(1)
    op = "ApplyGradientDescent"
    with pytest.raises(rondo.Error, match="shape"):
        model.apply(op, [np.ones((2, 2), np.float32), one])
    with pytest.raises(rondo.Error, match="f64"):
        model.apply(op, [np.ones((3, 2)), one])
    rows = np.ones((1, 2), np.float32)
    for bad in (-1, 3):
        with pytest.raises(rondo.Error, match="out of range"):
            model.apply("Sparse" + op, [rows, np.array([bad]), one])
    with pytest.raises(rondo.Error, match="slots"):
        model.apply("ApplyMomentum", [np.ones((3, 2), np.float32), one, one])
    np.testing.assert_array_equal(model.read()[0], np.ones((3, 2)))

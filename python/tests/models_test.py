"""The models: they train, train alike twice, and compute what PyTorch's do."""

import pathlib
import sys

import numpy as np
import pytest

import rondo as rd
from rondo import models

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import model_cases

CASES = model_cases.small_cases()
IMAGES = [name for name, case in CASES.items() if case.images]


@pytest.fixture(autouse=True)
def new_graph():
    rd.reset_default_graph()


def trainer(name, threads=1):
    return model_cases.RondoTrainer(CASES[name], intra=threads, rate=0.05)


@pytest.mark.parametrize("name", CASES)
def test_loss_falls(name):
    it = trainer(name)
    losses = [it.step() for _ in range(10)]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", CASES)
def test_same_seed_same_bits(name):
    def trained():
        it = trainer(name, threads=2)
        losses = [it.step() for _ in range(3)]
        return losses, it.weights()

    (losses, weights), (losses_again, weights_again) = trained(), trained()
    assert losses == losses_again
    for variable, array in weights.items():
        assert array.tobytes() == weights_again[variable].tobytes(), variable


@pytest.mark.parametrize(
    "name, layout",
    [(name, "NHWC") for name in CASES] + [(name, "NCHW") for name in IMAGES],
)
def test_same_as_torch(name, layout):
    pytest.importorskip(
        "torch", reason="PyTorch is not installed: scripts/setup torch installs it"
    )
    assert model_cases.check(CASES[name], layout, threads=1) < 1e-4


def test_a_check_that_fails_says_where(monkeypatch):
    pytest.importorskip(
        "torch", reason="PyTorch is not installed: scripts/setup torch installs it"
    )
    gradients = model_cases.RondoTrainer.gradients

    def wrong(self):
        loss, grads = gradients(self)
        return loss, {**grads, "logits/bias": grads["logits/bias"] * 1.1}

    monkeypatch.setattr(model_cases.RondoTrainer, "gradients", wrong)
    with pytest.raises(ValueError, match=r"logits\.bias"):
        model_cases.check(CASES["mlp"], threads=1)


def test_calls_share_variables():
    model = models.LeNet(filters=(2, 3), units=4, classes=3, dropout=0.5)
    x = rd.placeholder(rd.float32, [None, 8, 8, 1])
    model(x, training=True)
    count = len(rd.trainable_variables())
    model(x)
    assert len(rd.trainable_variables()) == count == 8


def test_moving_averages_move_and_serve():
    model = models.ResNet(blocks=(1,), width=2, classes=3)
    x = rd.placeholder(rd.float32, [None, 16, 16, 3])
    y = rd.placeholder(rd.int64, [None])
    train = models.train_op(
        rd.train.MomentumOptimizer(0.01, 0.9),
        models.loss(y, model(x, training=True)),
    )
    test = model(x)
    mean = [v for v in rd.global_variables() if "stem/norm/moving_mean" in v.name][0]
    rng = np.random.default_rng(1)
    images = rng.random((4, 16, 16, 3), np.float32)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        assert not session.run(mean).any()
        session.run(train, {x: images, y: [0, 1, 2, 0]})
        assert session.run(mean).any()
        # By moving averages, an image's logits do not depend on the others.
        together = session.run(test, {x: images})
        alone = session.run(test, {x: images[:1]})
        np.testing.assert_allclose(together[:1], alone, rtol=1e-4, atol=1e-5)


def test_batches_of_any_size():
    lstm = models.LSTM(units=4, layers=2, classes=3)
    x = rd.placeholder(rd.float32, [None, 5, 2])
    gpt = models.GPT(vocabulary=11, layers=1, width=8, heads=2, places=6)
    tokens = rd.placeholder(rd.int64, [None, 4])
    fetches = [lstm(x), gpt(tokens)]
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        for batch in (1, 3):
            feeds = {x: np.ones((batch, 5, 2)), tokens: np.ones((batch, 4), int)}
            got, words = session.run(fetches, feeds)
            assert got.shape == (batch, 3)
            assert words.shape == (batch, 4, 11)


def test_gpt_sees_only_what_came_before():
    gpt = models.GPT(vocabulary=11, layers=2, width=8, heads=2, places=6)
    tokens = rd.placeholder(rd.int64, [1, 6])
    logits = gpt(tokens)
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        one = session.run(logits, {tokens: [[1, 2, 3, 4, 5, 6]]})
        other = session.run(logits, {tokens: [[1, 2, 3, 4, 9, 6]]})
    np.testing.assert_array_equal(one[0, :4], other[0, :4])
    assert (one[0, 4:] != other[0, 4:]).any()


def test_gpt_names_what_is_wrong():
    with pytest.raises(rd.InvalidArgumentError, match="multiple of heads"):
        models.GPT(width=10, heads=3)
    gpt = models.GPT(vocabulary=11, layers=1, width=8, heads=2, places=6)
    with pytest.raises(rd.InvalidArgumentError, match="not above 6"):
        gpt(rd.placeholder(rd.int64, [1, 7]))

"""Metrics over two batches, by what NumPy says of both together."""

import numpy as np
import pytest

import rondo as rd

RNG = np.random.default_rng(3)
LABELS = RNG.integers(0, 2, (2, 40))
SCORES = np.clip(LABELS * 0.4 + RNG.random((2, 40)) * 0.6, 0, 1).astype(np.float32)
GUESSES = (SCORES > 0.5).astype(np.int64)
WEIGHTS = RNG.random((2, 40)).astype(np.float32)


@pytest.fixture(autouse=True)
def fresh(new_graph):
    pass


def over_batches(make, *arrays):
    """The metric after all batches: what `value` gives, which is the last update."""
    inputs = [rd.placeholder(a.dtype, a.shape[1:]) for a in arrays]
    value, update = make(*inputs)
    with rd.Session() as session:
        session.run(rd.local_variables_initializer())
        for batch in zip(*arrays, strict=True):
            last = session.run(update, dict(zip(inputs, batch, strict=True)))
        got = session.run(value)
    assert np.allclose(got, last)
    return got


def test_mean_and_accuracy():
    assert np.isclose(over_batches(rd.metrics.mean, SCORES), SCORES.mean())
    weighted = over_batches(lambda x, w: rd.metrics.mean(x, w), SCORES, WEIGHTS)
    assert np.isclose(weighted, (SCORES * WEIGHTS).sum() / WEIGHTS.sum())
    right = over_batches(rd.metrics.accuracy, LABELS, GUESSES)
    assert np.isclose(right, (LABELS == GUESSES).mean())


@pytest.mark.parametrize(
    "name, want",
    [
        ("mean_squared_error", ((SCORES - LABELS) ** 2).mean()),
        ("mean_absolute_error", np.abs(SCORES - LABELS).mean()),
        ("root_mean_squared_error", np.sqrt(((SCORES - LABELS) ** 2).mean())),
    ],
)
def test_errors(name, want):
    got = over_batches(getattr(rd.metrics, name), LABELS.astype(np.float32), SCORES)
    assert np.isclose(got, want, rtol=1e-4)


def test_counts_precision_and_recall():
    tp = ((LABELS == 1) & (GUESSES == 1)).sum()
    fp = ((LABELS == 0) & (GUESSES == 1)).sum()
    fn = ((LABELS == 1) & (GUESSES == 0)).sum()
    tn = ((LABELS == 0) & (GUESSES == 0)).sum()
    for name, want in {
        "true_positives": tp,
        "false_positives": fp,
        "false_negatives": fn,
        "true_negatives": tn,
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
    }.items():
        rd.reset_default_graph()
        got = over_batches(getattr(rd.metrics, name), LABELS, GUESSES)
        assert np.isclose(got, want), name


def test_auc_is_the_probability_of_the_right_order():
    good = SCORES.ravel()[LABELS.ravel() == 1]
    bad = SCORES.ravel()[LABELS.ravel() == 0]
    want = (good[:, None] > bad).mean()
    got = over_batches(rd.metrics.auc, LABELS, SCORES)
    assert abs(got - want) < 0.02
    with pytest.raises(rd.InvalidArgumentError, match="curve"):
        rd.metrics.auc(LABELS[0], SCORES[0], curve="other")


def test_mean_iou_and_per_class():
    classes = RNG.integers(0, 3, (2, 30))
    guesses = RNG.integers(0, 3, (2, 30))
    both = [((classes == c) & (guesses == c)).sum() for c in range(3)]
    either = [((classes == c) | (guesses == c)).sum() for c in range(3)]
    got = over_batches(lambda a, b: rd.metrics.mean_iou(a, b, 3), classes, guesses)
    assert np.isclose(got, np.mean(np.divide(both, either)))
    want = np.mean([(guesses[classes == c] == c).mean() for c in range(3)])
    rd.reset_default_graph()
    got = over_batches(
        lambda a, b: rd.metrics.mean_per_class_accuracy(a, b, 3), classes, guesses
    )
    assert np.isclose(got, want)


def test_nothing_yet_is_zero():
    value, _ = rd.metrics.mean(rd.placeholder(rd.float32, [None]))
    with rd.Session() as session:
        session.run(rd.local_variables_initializer())
        assert session.run(value) == 0

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


def run_once(pair, feeds=None):
    with rd.Session() as session:
        session.run(rd.local_variables_initializer())
        return session.run(pair[1], feeds)


def test_a_column_is_not_compared_with_each_of_a_row():
    """[4, 1] against [4] would be broadcast to [4, 4]."""
    column, row = SCORES[0, :4, None], SCORES[0, :4]
    for metric in (rd.metrics.mean_squared_error, rd.metrics.mean_absolute_error):
        assert run_once(metric(column, row)) == 0
        assert run_once(metric(row, column)) == 0
    weights = np.array([[1.0], [0.0], [0.0], [0.0]], np.float32)
    assert run_once(rd.metrics.mean(row, weights)) == row[0]
    with pytest.raises(rd.InvalidArgumentError, match="expected the same shape"):
        rd.metrics.mean_squared_error(SCORES[0, :3], SCORES[0, :1])
    with pytest.raises(rd.InvalidArgumentError, match="expected the same shape"):
        rd.metrics.precision(LABELS[0, :3], GUESSES[0, :2])
    with pytest.raises(rd.InvalidArgumentError, match=r"weights of shape \[4, 2\]"):
        rd.metrics.mean(row, np.ones((4, 2), np.float32))


def test_predictions_are_taken_in_the_type_of_the_labels():
    labels = rd.constant([0, 1, 2])
    assert run_once(rd.metrics.accuracy(labels, rd.constant([0.5, 1.9, 3.0]))) == (
        pytest.approx(2 / 3)
    )


def test_weights_of_classes():
    labels, guesses = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0])
    weights = np.array([1.0, 2.0, 4.0, 8.0], np.float32)
    iou = rd.metrics.mean_iou(labels, guesses, 2, weights)
    assert run_once(iou) == pytest.approx((1 / 11 + 4 / 14) / 2)
    each = rd.metrics.mean_per_class_accuracy(labels, guesses, 2, weights)
    assert run_once(each) == pytest.approx((1 / 3 + 4 / 12) / 2)


def test_collections_have_the_metric_itself():
    value, update = rd.metrics.root_mean_squared_error(
        SCORES[0], SCORES[0] * 0, None, "values", ["updates"]
    )
    assert rd.get_collection("values") == [value]
    assert rd.get_collection("updates") == [update]


@pytest.mark.parametrize(
    "call",
    [
        lambda: rd.metrics.auc(LABELS[0], SCORES[0], summation_method="careful"),
        lambda: rd.metrics.recall_at_k(LABELS[0], SCORES, 1, class_id=1),
    ],
)
def test_what_is_not_supported_is_refused(call):
    with pytest.raises(rd.InvalidArgumentError, match="is not supported"):
        call()
    with pytest.raises(TypeError, match="bogus"):
        rd.metrics.mean_iou(LABELS[0], GUESSES[0], 2, bogus=1)

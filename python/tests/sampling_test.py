"""Candidate samplers and the losses of samples, by what NumPy says."""

import numpy as np
import pytest

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


def value(tensor, feeds=None):
    with rd.Session() as session:
        session.run(rd.global_variables_initializer())
        return session.run(tensor, feeds)


def test_samples_are_different_and_as_often_as_expected():
    labels = rd.constant(np.zeros((1, 1), np.int64))
    sampled, true_expected, expected = rd.nn.log_uniform_candidate_sampler(
        labels, 1, 5, True, 20, seed=1
    )
    counts = np.zeros(20)
    wanted = 0.0
    with rd.Session() as session:
        for _ in range(400):
            got, often, _ = session.run([sampled, true_expected, expected])
            assert len(set(got.tolist())) == 5
            counts[got] += 1
            wanted += often[0, 0]
    # Class 0 is the likeliest; its expected count is right on the average.
    assert counts.argmax() == 0
    assert abs(counts[0] - wanted) < 40
    with pytest.raises(rd.InvalidArgumentError, match="different classes"):
        rd.nn.log_uniform_candidate_sampler(labels, 1, 30, True, 20)


def test_sampled_softmax_of_all_classes_is_softmax():
    """With every class in the sample and its expected count 1, it is exact."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(6, 4)).astype(np.float32)
    biases = rng.normal(size=6).astype(np.float32)
    inputs = rng.normal(size=(3, 4)).astype(np.float32)
    labels = np.array([[1], [4], [0]])
    every = (
        rd.constant(np.arange(6)),
        rd.constant(np.ones((3, 1), np.float32)),
        rd.constant(np.ones(6, np.float32)),
    )
    loss = rd.nn.sampled_softmax_loss(
        rd.constant(weights), rd.constant(biases), rd.constant(labels),
        rd.constant(inputs), 6, 6, sampled_values=every,
    )  # fmt: skip
    logits = inputs @ weights.T + biases
    want = np.log(np.exp(logits).sum(1)) - logits[np.arange(3), labels[:, 0]]
    assert np.allclose(value(loss), want, rtol=1e-4)


def test_nce_loss():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(6, 4)).astype(np.float32)
    inputs = rng.normal(size=(2, 4)).astype(np.float32)
    labels = np.array([[1], [4]])
    sample = (
        rd.constant(np.array([2, 5])),
        rd.constant(np.full((2, 1), 0.5, np.float32)),
        rd.constant(np.full(2, 0.25, np.float32)),
    )
    loss = rd.nn.nce_loss(
        rd.constant(weights), rd.constant(np.zeros(6, np.float32)),
        rd.constant(labels), rd.constant(inputs), 2, 6, sampled_values=sample,
    )  # fmt: skip
    right = (inputs * weights[labels[:, 0]]).sum(1) - np.log(0.5)
    other = inputs @ weights[[2, 5]].T - np.log(0.25)
    want = np.log1p(np.exp(-right)) + np.log1p(np.exp(other)).sum(1)
    assert np.allclose(value(loss), want, rtol=1e-4)

"""Losses of weights, which keep them small."""

import rondo as rd

from ...framework.graph import GraphKeys
from ...ops import nn as _nn


def l2_regularizer(scale, scope=None):
    """scale times half the sum of the squares."""
    if scale == 0.0:
        return lambda weights: None
    return lambda weights: rd.multiply(_nn.l2_loss(weights), float(scale), scope)


def l1_regularizer(scale, scope=None):
    """scale times the sum of the absolute values."""
    if scale == 0.0:
        return lambda weights: None
    return lambda weights: rd.multiply(
        rd.reduce_sum(rd.abs(weights)), float(scale), scope
    )


def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    """Both."""
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)])


def sum_regularizer(regularizer_list, scope=None):
    """The sum of several."""

    def total(weights):
        losses = [r(weights) for r in regularizer_list if r is not None]
        losses = [x for x in losses if x is not None]
        return rd.add_n(losses) if losses else None

    return total


def apply_regularization(regularizer, weights_list=None):
    """The sum of a regularizer over weights; it is a regularization loss."""
    if weights_list is None:
        weights_list = rd.get_collection(GraphKeys.WEIGHTS)
    losses = [x for x in map(regularizer, weights_list) if x is not None]
    total = rd.add_n(losses) if losses else rd.constant(0.0)
    rd.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total

"""Learners in plain numpy: logistic regression over candidates, boosted trees of two levels, and ridge regression.

The candidates of each prompt are consecutive, and `starts` has the index of each prompt's first candidate. A learner
gives each candidate a score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Starts = NDArray[np.int64]
Scorer = Callable[[Floats], Floats]
"""A fitted model: maps the features of candidates, one row each, to their scores."""
NEWTON, RIDGE = 8, 3.0
ROUNDS, SHRINKAGE, BINS, LEAST = 80, 0.2, 12, 4


def shares(scores: Floats, starts: Starts) -> Floats:
    """Return the softmax of some scores within each prompt."""
    sizes = np.diff(np.append(starts, len(scores)))
    raised = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
    return raised / np.repeat(np.add.reduceat(raised, starts), sizes)


def chances(scores: Floats) -> Floats:
    """Return the logistic function of some scores."""
    return 1 / (1 + np.exp(-np.clip(scores, -30, 30)))


@dataclass(frozen=True)
class Scaled:
    """A linear model over features standardised as in training."""

    means: Floats
    widths: Floats
    weights: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return the score of each candidate."""
        return np.clip((features - self.means) / self.widths, -6, 6) @ self.weights[:-1] + self.weights[-1]


def regression(features: Floats, worth: Floats, starts: Starts, *, one: bool, ridge: float = RIDGE) -> Scaled:
    """Fit a logistic regression by Newton's method.

    Args:
        features: a row for each candidate.
        worth: the worth of each candidate, from 0 to 1; with `one`, it sums to 1 in a prompt, or is all 0.
        starts: the index of each prompt's first candidate.
        one: whether one candidate of each prompt is chosen (softmax), or any number of them.
        ridge: the strength of L2 regularization.
    """
    means, widths = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
    rows = np.hstack([np.clip((features - means) / widths, -6, 6), np.ones((len(features), 1))])
    weights = np.zeros(rows.shape[1])
    held = np.repeat(np.add.reduceat(worth, starts), np.diff(np.append(starts, len(worth))))
    for _ in range(NEWTON):
        predicted = shares(rows @ weights, starts) * held if one else chances(rows @ weights)
        slope = rows.T @ (worth - predicted) - ridge * weights
        bend = rows.T @ (rows * (predicted if one else predicted * (1 - predicted))[:, None]) + ridge * np.eye(
            len(weights)
        )
        if one:
            middles = np.add.reduceat(rows * predicted[:, None], starts, axis=0)
            bend -= middles.T @ middles
        step = np.linalg.solve(bend, slope)
        weights = weights + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-9))
    return Scaled(means, widths, weights)


@dataclass(frozen=True)
class Trees:
    """A sum of trees of two levels, each with three splits (a feature and a threshold) and four leaves."""

    trees: tuple[tuple[tuple[tuple[int, float], ...], Floats], ...]

    def __call__(self, features: Floats) -> Floats:
        """Return the score of each candidate."""
        total = np.zeros(len(features))
        for questions, leaves in self.trees:
            over = [features[:, at] > bound for at, bound in questions]
            total += leaves[np.where(over[0], 2 + over[2], over[1].astype(int))]
        return total


def boosted(features: Floats, worth: Floats, starts: Starts, *, one: bool) -> Trees:
    """Fit boosted trees of two levels; for the arguments, see `regression`."""
    bounds = [np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[:-1])) for column in features.T]
    binned = np.stack(
        [np.searchsorted(bound, column, side="left") for bound, column in zip(bounds, features.T, strict=True)]
    )
    held = np.repeat(np.add.reduceat(worth, starts), np.diff(np.append(starts, len(worth))))
    total, trees = np.zeros(len(features)), []
    for _ in range(ROUNDS):
        predicted = shares(total, starts) * held if one else chances(total)
        slope, bend = worth - predicted, np.maximum(predicted * (1 - predicted), 1e-6)
        every = np.ones(len(features), dtype=bool)
        top = _question(binned, slope, bend, every)
        over = binned[top[0]] > top[1]
        below, above = _question(binned, slope, bend, ~over), _question(binned, slope, bend, over)
        lower, upper = binned[below[0]] > below[1], binned[above[0]] > above[1]
        leaf = np.where(over, 2 + upper, lower.astype(int))
        sums, sizes = np.bincount(leaf, slope, 4), np.bincount(leaf, bend, 4)
        leaves = SHRINKAGE * np.clip(sums / (sizes + 1.0), -4, 4)
        total += leaves[leaf]
        questions = ((at, float(bounds[at][min(cut, len(bounds[at]) - 1)])) for at, cut in (top, below, above))
        trees.append((tuple(questions), leaves))
    return Trees(tuple(trees))


def _question(binned: NDArray[np.int64], slope: Floats, bend: Floats, among: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the feature and the bin of the best split of some candidates."""
    if not among.any():
        return 0, BINS
    width, columns = BINS + 1, len(binned)
    places = (binned[:, among] + np.arange(columns)[:, None] * width).ravel()
    table = [
        np.bincount(places, np.tile(each[among], columns), columns * width).reshape(columns, width).cumsum(axis=1)
        for each in (slope, bend, np.ones(len(slope)))
    ]
    gains = np.zeros((columns, width))
    for part in (table, [each[:, -1:] - each for each in table]):
        gains += np.where(part[2] >= LEAST, part[0] ** 2 / (part[1] + 1.0), 0.0)
    gains[(table[2] < LEAST) | (table[2][:, -1:] - table[2] < LEAST)] = -1.0
    return divmod(int(gains.argmax()), width)


def ridge_scores(known: Floats, truth: Floats, asked: Floats, ridge: float = 1.0) -> Floats:
    """Fit a ridge regression in its dual form, for many features and few rows, and return predictions for `asked`."""
    middle, mean = known.mean(axis=0), truth.mean()
    width = np.maximum(known.std(axis=0), 0.1)
    rows, others = (known - middle) / width, (asked - middle) / width
    kernel = rows @ rows.T
    size = max(float(np.trace(kernel)) / len(rows), 1e-9)
    return others @ (rows.T @ np.linalg.solve(kernel + ridge * size * np.eye(len(rows)), truth - mean)) + mean


def auc(scores: Floats, truth: Floats) -> float:
    """Return the area under the ROC curve: the share of pairs of both classes in the right order; ties count half."""
    order = np.argsort(scores, kind="stable")
    _, tied = np.unique(scores[order], return_inverse=True)
    ranks = np.bincount(tied, weights=np.arange(1, len(scores) + 1)) / np.bincount(tied)
    known = ranks[tied][truth[order] == 1].sum()
    positive, negative = int(truth.sum()), int((1 - truth).sum())
    return float((known - positive * (positive + 1) / 2) / (positive * negative))

"""Gaussian matrices that are drawn as far as products show them have the law of matrices that are drawn whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.spaces.unseen import Directions, RectangularUnseen, SymmetricUnseen, Unseen

KINDS: list[tuple[type[Unseen], tuple[int, int]]] = [(SymmetricUnseen, (4, 4)), (RectangularUnseen, (4, 3))]
each_kind = pytest.mark.parametrize(("kind", "shape"), KINDS, ids=["symmetric", "rectangular"])


def searched(noise: Unseen, rng: np.random.Generator) -> list[tuple[Array, Array, bool]]:
    """Ask as a search would, each time for what the last product shows, and once for the same again."""
    seen, vector = [], rng.standard_normal(noise.shape[1])
    for _ in range(2):
        image = noise.apply(vector)
        back = noise.apply_transposed(image)
        seen += [(vector, image, False), (image, back, True)]
        vector = back / np.linalg.norm(back)
    first = seen[0][0] + 0.5 * seen[2][0]
    return [*seen, (first, noise.apply(first), False)]


def whole(noise: Unseen) -> Array:
    """Draw what has not been drawn."""
    return np.array([noise.apply(row) for row in np.eye(noise.shape[1])]).T


def check_products(kind: type[Unseen], size: tuple[int, int]) -> None:
    """Compare what a search has seen with the matrix that is drawn to its end afterwards."""
    noise = kind(size, np.random.default_rng(1))
    seen = searched(noise, np.random.default_rng(2))
    matrix = whole(noise)
    for vector, image, transposed in seen:
        np.testing.assert_allclose((matrix.T if transposed else matrix) @ vector, image, atol=1e-8 * size[1] ** 2)
    if kind is SymmetricUnseen:
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-9)


@each_kind
def test_all_products_are_of_one_matrix(kind: type[Unseen], shape: tuple[int, int]) -> None:
    check_products(kind, shape)
    check_products(kind, (80 if kind is SymmetricUnseen else 70, 80))


def covariances(kind: Any, shape: tuple[int, int], draws: int = 4000) -> tuple[Array, Array]:
    """Return mean products of all entries of many matrices, each seen by a search first, and what they should be."""
    rng = np.random.default_rng(3)
    entries = []
    for _ in range(draws):
        noise = kind(shape, rng)
        searched(noise, rng)
        entries.append(whole(noise).ravel())
    found = np.array(entries)
    expected = np.eye(found.shape[1])
    if issubclass(kind, SymmetricUnseen):
        swapped = np.arange(found.shape[1]).reshape(shape).T.ravel()
        expected = (expected + expected[swapped]) / 2
    return found.T @ found / draws, expected


@each_kind
def test_entries_have_the_covariances_of_a_matrix_drawn_whole(kind: type[Unseen], shape: tuple[int, int]) -> None:
    found, expected = covariances(kind, shape)
    assert np.abs(found - expected).max() < 5.5 * np.sqrt(2 / 4000)


class NarrowDiagonal(SymmetricUnseen):
    def _image(self, unit: Array) -> Array:
        normal = self.rng.standard_normal(len(unit)) / np.sqrt(2.0)
        known = self.right
        return np.asarray(normal + (known.images @ unit - known.vectors @ normal) @ known.vectors)


class Added(RectangularUnseen):
    def _drawn(self, unit: Array, across: Directions) -> Array:
        return np.asarray(self.rng.standard_normal(across.vectors.shape[1]) + across.images @ unit @ across.vectors)


class Forgetful(RectangularUnseen):
    def _drawn(self, unit: Array, across: Directions) -> Array:
        return np.asarray(self.rng.standard_normal(across.vectors.shape[1]))


def test_products_of_several_matrices_are_noticed() -> None:
    with pytest.raises(AssertionError):
        check_products(Forgetful, (4, 3))


@pytest.mark.parametrize(("kind", "shape"), [(NarrowDiagonal, (4, 4)), (Added, (4, 3))])
def test_other_laws_are_noticed(kind: type[Unseen], shape: tuple[int, int]) -> None:
    found, expected = covariances(kind, shape)
    assert np.abs(found - expected).max() > 5.5 * np.sqrt(2 / 4000)


def test_entries_are_normal() -> None:
    """The fourth moment of a standard normal number is 3; that of a uniform one of variance 1 would be 1.8."""
    rng = np.random.default_rng(4)
    entries = []
    for _ in range(4000):
        noise = RectangularUnseen((3, 3), rng)
        searched(noise, rng)
        entries.append(whole(noise).ravel())
    fourth = (np.array(entries) ** 4).mean(axis=0)
    np.testing.assert_allclose(fourth, 3.0, atol=5.5 * np.sqrt(96 / 4000))


def test_other_streams_do_not_depend_on_how_much_is_seen() -> None:
    states = []
    for products in (0, 1, 200):
        rng = np.random.default_rng(5)
        noise = SymmetricUnseen((90, 90), rng)
        for row in np.eye(90)[:products]:
            noise.apply(row)
        states.append(rng.bit_generator.state)
    assert states[0] == states[1] == states[2]


@pytest.mark.parametrize("space", [bb.spaces.Spectrahedron(70), bb.spaces.NuclearBall(70, 66)], ids=str)
def test_a_booster_that_was_saved_goes_on_as_one_that_was_not(space: bb.spaces.Space, tmp_path: Any) -> None:
    booster = bb.Booster(bb.learners.FPL(horizon=20), 3, gradient=bb.gradients.Stochastic(), space=space, seed=3)

    def play(it: bb.Booster, rounds: int) -> Array:
        rng, found = np.random.default_rng(it.rounds), []
        for _ in range(rounds):
            ticket = it.ask()
            found.append(np.asarray(ticket.prediction))
            it.tell(ticket, rng.standard_normal(np.shape(ticket.queries)))
        return np.array(found)

    play(booster, 3)
    booster.save(tmp_path / "model.bb")
    np.testing.assert_array_equal(play(bb.Booster.load(tmp_path / "model.bb"), 3), play(booster, 3))

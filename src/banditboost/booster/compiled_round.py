"""What every compiled loop is given of a booster beside its copies and its gradient: chain, ground and space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from banditboost.booster.rounds import Rounds


def round_parts(booster: Rounds, rounds: int) -> dict[str, Any]:
    """Return the fields that `banditboost._compiled.round.propose` and `follow` read, by name, for the next rounds of a booster."""
    from banditboost._compiled.round import dimension_of
    from banditboost._compiled.spaces import Anywhere

    spec, geometry, d = booster.spec, booster.geometry, booster.spec.space.size
    ground = geometry.ground.compiled_form()
    start, first = geometry.chain_start.reshape(d), booster.phase_rounds + 1
    return {
        "dimension": dimension_of(d),
        "chain": spec.chain.compiled_form(start, ground, spec.copies, booster.chain_memory, first, rounds),
        "scale": 1 / spec.chain.gamma,
        "projects": geometry.projects_plays,
        "ground": ground if geometry.projects_plays else Anywhere(),
        "space": spec.space.compiled_form() if geometry.projects_prediction else Anywhere(),
    }

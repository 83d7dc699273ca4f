"""What requests and answers look like: checked on the way in, and shown with examples in the OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Context = list[float] | dict[str, JsonValue] | None
"""The numbers of a context, or its fields by name where the recipe has an encoder; None for learners that take none."""
Numbers = list[Any] | float
Point = list[Any] | dict[str, float] | float
"""A decision: numbers, or numbers by name where the recipe names them."""
MOST_AT_ONCE = 1_000
"""Most contexts or tells of one request."""


def _like(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": list(examples)})


BOX = {"kind": "Box", "low": [0, 0], "high": [20, 0.5]}
NAMED = {"algorithm": "boosted", "space": BOX, "answers": 1, "encoder": True, "decision": ["price", "discount"]}
FIELDS = {"city": "Rome", "age": 41, "since": "2026-05-01", "coupon": None}
SHOP = {"algorithm": "boosted", "space": {"kind": "Interval", "low": 0, "high": 20}, "answers": 1, "maximize": True}
GUARDED = {"baseline": 9.5, "share": 0.1, "bounds": [0, 20], "confidence": 0.95}


class GuardForm(BaseModel):
    """A share of traffic for a frozen baseline, and when to fall back to it."""

    model_config = _like(GUARDED, {"baseline": {"offset": 8, "weights": [2, 0.5]}, "share": 0.2, "margin": 0.5})
    baseline: JsonValue = Field(
        description="A decision; or offset and weights, a line in the features; or a snapshot, the model as it was then."
    )
    share: float | None = Field(None, description="The share of rounds that the baseline plays; 0.1 if not given.")
    bounds: list[float] | None = Field(
        None, description="Between which values losses (or rewards) lie; without them intervals are asymptotic."
    )
    confidence: float | None = Field(None, description="How often intervals hold at all times; 0.95 if not given.")
    margin: float | None = Field(None, description="How much more than the baseline a round may lose in the mean.")
    after: int | None = Field(None, description="Rounds at the start that are not compared; 1,000 if not given.")
    window: int | None = Field(
        None, description="Rounds after which a second sequence begins again; 10,000 if not given."
    )


class GuardState(BaseModel):
    """Whether the booster plays, or the baseline every round."""

    model_config = _like({"state": "on"}, {"state": "fallen back"})
    state: str


class Creation(BaseModel):
    """A booster to be made."""

    model_config = _like({"recipe": SHOP, "deadline": 86400}, {"recipe": NAMED}, {"recipe": SHOP, "guard": GUARDED})
    recipe: dict[str, JsonValue] = Field(
        description="An algorithm by name with its space and options, or a whole spec; with names of the decision if wanted."
    )
    deadline: float | None = Field(None, description="Seconds after which a ticket is no longer told; null for never.")
    max_in_flight: int | None = Field(None, description="Most tickets in flight; the oldest is forgotten for one more.")
    guard: GuardForm | None = Field(None, description="A guard, from the first round on.")


Subject = Annotated[str, Field(min_length=1, max_length=200)]


class Question(BaseModel):
    """One context, or many."""

    model_config = _like(
        {"context": [0.3, 1.0]},
        {"contexts": [[0.3, 1.0], [0.1, 0.0]], "space": [5, 12]},
        {"context": FIELDS, "subject": "customer 17"},
    )
    context: Context = Field(None, description="One context.")
    contexts: list[Context] | None = Field(None, max_length=MOST_AT_ONCE, description="Many contexts.")
    space: list[Point] | None = Field(None, description="The lowest and the highest decision, for this request alone.")
    subject: Subject | None = Field(None, description="Your key for the person whom it is about, for erasure.")


class Look(BaseModel):
    """Contexts in which to predict."""

    model_config = _like({"context": [0.3, 1.0]}, {"contexts": [[0.3, 1.0], [0.1, 0.0]]})
    context: Context = None
    contexts: list[Context] | None = Field(None, max_length=MOST_AT_ONCE)


class Answer(BaseModel):
    """What became of a ticket: given once, as values, losses or rewards; one number for a ticket with one query."""

    model_config = _like(
        {"ticket": "0-1", "rewards": 7.5}, {"ticket": "0-2", "losses": [0.4], "answered": [True, False]}
    )
    ticket: str
    values: Numbers | None = None
    losses: Numbers | None = None
    rewards: Numbers | None = None
    actions: list[Point] | None = Field(None, description="What was played, where it is not what was asked about.")
    answered: list[bool] | None = Field(None, description="Which queries have an answer, where some have none.")


class Answers(BaseModel):
    """One answer, or many."""

    model_config = _like(
        {"ticket": "0-1", "rewards": 7.5},
        {"ticket": "0-1", "rewards": 7.5, "actions": [9.99]},
        {"tells": [{"ticket": "0-1", "losses": [0.4]}]},
    )
    ticket: str | None = None
    values: Numbers | None = None
    losses: Numbers | None = None
    rewards: Numbers | None = None
    actions: list[Point] | None = None
    answered: list[bool] | None = None
    tells: list[Answer] | None = Field(None, max_length=MOST_AT_ONCE)


class Lesson(BaseModel):
    """An action that somebody else has chosen, and what it was worth: given once, as value, loss or reward."""

    model_config = _like(
        {"context": [0.3, 1.0], "action": 9.99, "reward": 6.0, "density": 0.125},
        {"context": FIELDS, "action": {"price": 12, "discount": 0.1}, "loss": 3.5, "subject": "customer 17"},
    )
    context: Context = None
    action: Point = Field(description="What was played: a point of the space.")
    value: float | None = None
    loss: float | None = None
    reward: float | None = None
    density: float | None = Field(None, description="The density with which it was drawn, where that is known.")
    aim: Numbers | None = Field(None, description="What the other aims at in this context, with its spread.")
    spread: Numbers | None = Field(None, description="The standard deviation of what the other plays, with its aim.")
    subject: Subject | None = Field(None, description="Your key for the person whom it is about, for erasure.")


class Erasure(BaseModel):
    """People of whom nothing shall be kept, by the keys that were given with their contexts."""

    model_config = _like({"subject": "customer 17"}, {"subjects": ["customer 17", "customer 18"]})
    subject: Subject | None = None
    subjects: list[Subject] | None = Field(None, min_length=1, max_length=MOST_AT_ONCE)


class Tickets(BaseModel):
    """Tickets whose answers will not come."""

    model_config = _like({"tickets": ["0-1", "0-2"]})
    tickets: list[str] = Field(max_length=MOST_AT_ONCE)


class Label(BaseModel):
    """A snapshot to be kept."""

    model_config = _like({"label": "before the sale"})
    label: str = Field("", max_length=200)


class Back(BaseModel):
    """A snapshot to go back to."""

    model_config = _like({"snapshot": 1})
    snapshot: int


class Issued(BaseModel):
    """A ticket."""

    model_config = _like({"ticket": "0-1", "prediction": 10.0, "queries": [9.4], "action": 9.4, "density": [0.21]})
    ticket: str
    prediction: JsonValue
    queries: list[JsonValue]
    action: JsonValue = Field(None, description="The decision to play, where there is one query.")
    density: list[float] | None = Field(None, description="The density with which each query was drawn.")
    policy: str | None = Field(None, description="Who decides, where there is a guard: booster or baseline.")
    asks: str = Field("values", description="What answers must be: values, or gradients.")


class ProblemDocument(BaseModel):
    """A problem as RFC 9457 has it."""

    model_config = _like(
        {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "There is no booster of this name."}
    )
    type: str
    title: str
    status: int
    detail: str

"""What may be said over HTTP: shapes that read a value strictly, and describe themselves as JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from margrave.budget.numbers import exact_number
from margrave.errors import MargraveError, UsageError


class Shape(Protocol):
    """A shape of a value."""

    @property
    def schema(self) -> dict[str, Any]:
        """It as JSON Schema, of the draft 2020-12 that OpenAPI 3.1 takes."""

    def read(self, value: Any, place: str) -> Any:
        """The value, if it has the shape; what has not is refused, by its place."""


@dataclass(frozen=True)
class TextShape:
    """A text of some length; ``pattern`` fits the whole of it."""

    most: int = 200
    least: int = 1
    pattern: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        told: dict[str, Any] = {"type": "string", "minLength": self.least, "maxLength": self.most}
        return {**told, "pattern": f"^{self.pattern}$"} if self.pattern else told

    def read(self, value: Any, place: str) -> str:
        if not isinstance(value, str) or not self.least <= len(value) <= self.most:
            raise UsageError(f"{place} must be a text of {self.least} to {self.most} characters")
        if "\0" in value or any("\ud800" <= one <= "\udfff" for one in value):
            raise UsageError(f"{place} has characters that no text has")
        if self.pattern and not re.fullmatch(self.pattern, value):
            raise UsageError(f"{place} must be of the form {self.pattern}")
        return value


@dataclass(frozen=True)
class OneOf:
    """One of some words."""

    options: tuple[str, ...]

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.options)}

    def read(self, value: Any, place: str) -> str:
        if not isinstance(value, str) or value not in self.options:
            raise UsageError(f"{place} must be one of {', '.join(self.options)}")
        return value


@dataclass(frozen=True)
class WholeNumber:
    """A whole number between two; in a query it is written in digits."""

    least: int
    most: int

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def read(self, value: Any, place: str) -> int:
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value, re.ASCII):
            value = int(value)
        if type(value) is not int or not self.least <= value <= self.most:
            raise UsageError(f"{place} must be a whole number from {self.least} to {self.most}")
        return value


@dataclass(frozen=True)
class ExactText:
    """An exact number above 0, as text: "0.1" is one tenth, and so is "1/10"."""

    pattern = r"[0-9]{1,30}(\.[0-9]{1,30}|/[0-9]{1,30})?"

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{self.pattern}$", "examples": ["0.1", "1/10"]}

    def read(self, value: Any, place: str) -> str:
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value, re.ASCII):
            raise UsageError(f'{place} must be an exact number as text, such as "0.1" or "1/10"')
        try:
            if exact_number(value) > 0:
                return value
        except (MargraveError, ZeroDivisionError):
            pass
        raise UsageError(f"{place} must be greater than 0")


@dataclass(frozen=True)
class ListShape:
    """Several of one shape."""

    shape: Shape
    least: int = 1
    most: int = 1_000

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.shape.schema, "minItems": self.least, "maxItems": self.most}

    def read(self, value: Any, place: str) -> list[Any]:
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            raise UsageError(f"{place} must be a list of {self.least} to {self.most}")
        return [self.shape.read(one, f"{place}[{at}]") for at, one in enumerate(value)]


@dataclass(frozen=True)
class NodeShape:
    """A node of the language of questions, which reads itself as strictly (docs/questions.md)."""

    @property
    def schema(self) -> dict[str, Any]:
        told = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}
        return {**told, "description": "A node of the language of questions, as its builders write it."}

    def read(self, value: Any, place: str) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
            raise UsageError(f"{place} must be an object with a 'kind'")
        return value


@dataclass(frozen=True)
class FieldsShape:
    """An object with some fields. Of each group in ``one_of`` exactly one is there."""

    needed: Mapping[str, Shape] = field(default_factory=dict)
    optional: Mapping[str, Shape] = field(default_factory=dict)
    one_of: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        every = {**self.needed, **self.optional}
        told: dict[str, Any] = {
            "type": "object",
            "properties": {name: shape.schema for name, shape in every.items()},
            "required": list(self.needed),
            "additionalProperties": False,
        }
        return {**told, "oneOf": [{"required": [name]} for name in self.one_of]} if self.one_of else told

    def read(self, value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise UsageError(f"{place} must be an object")
        every = {**self.needed, **self.optional}
        for name in value:
            if name not in every:
                raise UsageError(f"{place} has no field of that name: there are {', '.join(every)}")
        for name in self.needed:
            if name not in value:
                raise UsageError(f"{place} needs the field {name}")
        if self.one_of and sum(name in value for name in self.one_of) != 1:
            raise UsageError(f"{place} needs exactly one of {', '.join(self.one_of)}")
        return {name: every[name].read(one, f"{place}.{name}") for name, one in value.items()}


BUDGET = FieldsShape(optional={"epsilon": ExactText(), "rho": ExactText()}, one_of=("epsilon", "rho"))
NAME = TextShape(128, pattern=r"[A-Za-z0-9][A-Za-z0-9._@+-]*")
DATASET = TextShape(128, pattern=r"[A-Za-z0-9][A-Za-z0-9._+-]*@[A-Za-z0-9._+-]+")
DAY = TextShape(10, 10, r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
KEY = TextShape(64, 8, r"[A-Za-z0-9_-]+")
ONE_QUESTION = FieldsShape(
    optional={"text": TextShape(20_000), "sql": TextShape(20_000), "asked": NodeShape()},
    one_of=("text", "sql", "asked"),
)
PURSE = TextShape(100, 0, r"([0-9a-f]{1,80}/[0-9]{1,4})?")
"""The purse that pays, as the purses of an account are listed; empty: none."""
MEASURED = FieldsShape(needed={"asked": NodeShape(), "budget": BUDGET})

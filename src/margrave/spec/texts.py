"""Which texts every file of a release can hold (all but those that no encoding has, and those that end at a NUL), and
which of them a spreadsheet would not leave as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from margrave.algebra.domain import Domain

_FORMULA = re.compile(r"[=@\uff1d\uff20\t\r]|[+\-\uff0b\uff0d].*[^\W\d_]|[+\-\uff0b\uff0d].*[(!|]", re.DOTALL)
"""What spreadsheets take for the beginning of a formula. A sign before a number, as in -5 or -10-0, begins none."""


_IDENTIFIER = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|folio|caseno|idno|ssn|dni|rut|cpf|cpr|nif)$"
    r"|(person|patient|case|resp|respondent|user|customer|client|household|hh|pat|subj|subject|member)"
    r"_?(id|nr|no|num|number|key)$"
    r"|(kunden|personen|patienten|haushalts?|fall|mitglieds)[ _-]?(id|nr|nummer)$"
    r"|(kennung|kennnummer|kennzahl|lfd_?nr|laufnummer|matricule)$|(^|[^a-z])identif[^ _]*$",
    re.IGNORECASE,
)
"""Names of columns that tell records or people apart: ``id``, ``person_id``, ``patientnr``, ``Identificación``."""
_OWNERS = re.compile(
    r"person|patient|respondent|participant|user|customer|client|household|subject|member|student|pupil|employee|"
    r"kunde|patientin|haushalt|teilnehmer|mitglied|persona|paciente|cliente|hogar|personne|ménage|adhérent",
    re.IGNORECASE,
)
"""Those whom the ids of a column stand for, where it is called after them."""


_NUMBERED = re.compile(r"(^|[^a-z])(no|nr|num|number|nummer|n[º°]|№|#|index|row|line|serial|seq)\.?$", re.IGNORECASE)


def names_numbers(name: str) -> bool:
    """Whether a column numbers records, by its name, if no number occurs twice in it."""
    return _NUMBERED.search(name.strip()) is not None


def names_ids(name: str, *, many: bool = False) -> bool:
    """Whether a column holds ids, by its name; ``many``: it has too many values for what else it could say of them."""
    return _IDENTIFIER.search(name) is not None or (many and _OWNERS.fullmatch(name.strip()) is not None)


def text_problem(text: str) -> str | None:
    """Why a text cannot be published, or None where it can."""
    if "\0" in text:
        return "holds the character NUL, which pages and many readers of CSV cannot hold"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half a character, which is no text: no file can hold it"
    return None


def texts_problem(texts: Iterable[str]) -> str | None:
    """Why one of some texts cannot be published. Halves of a character in two texts make no whole one."""
    return text_problem("\n".join(texts))


def formulas(domain: Domain) -> tuple[str, ...]:
    """The names of attributes and values that a spreadsheet would take for formulas where CSV has them."""
    return formula_texts(text for one in domain for text in (one.name, *one.values))


def formula_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Those of some texts that a spreadsheet would take for formulas."""
    return tuple(dict.fromkeys(text for text in texts if _FORMULA.match(text)))

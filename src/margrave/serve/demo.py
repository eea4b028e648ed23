"""A server with everything set up, on bundled data that is public: two analysts, three releases, a budget half used."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from margrave import examples, pipeline
from margrave.budget.units import PureDP
from margrave.ledger.ledger import Ledger
from margrave.ledger.records import RequestRecord
from margrave.planning.questions.data_spec import DataSpec
from margrave.serve.kept.tokens import ALLOWED
from margrave.serve.operations.declared import House
from margrave.serve.operations.releases import publish
from margrave.session.session import Session
from margrave.spec.spec import Spec

DATASET = "rochdale@1"
CURATOR = "carla"
ANALYSTS = ("ann", "bob")
_TABLE = "households"
_ROWS = 1_000
_RELEASED = (["wife_active", "husband_unemployed"], ["wife_active", "young_child"], ["asian", "other_worker"])
_EACH = Fraction(1, 5)
_ASKED = "households by wife_active, wife_educated count"
_REST = Fraction(2, 5)
_CAP = 2 * (_EACH * len(_RELEASED) + _REST)


@dataclass(frozen=True)
class DemoServer:
    """The ledger of the demo, the password of each person, and the token of each analyst."""

    ledger: str
    passwords: dict[str, str]
    tokens: dict[str, str]


def set_up(folder: Path) -> DemoServer:
    """Make a ledger with a data set, people and releases in a folder."""
    url = str(folder / "ledger.db")
    spec = Spec.load(examples.path("rochdale"))
    declared = DataSpec.load(_declared(spec))
    with Ledger.create(url) as ledger:
        house = House(ledger)
        house.tables.make()
        ledger.register(DATASET, declared.notion, PureDP(_CAP))
        rows = {_TABLE: _households(spec)}
        pipeline.open_data(declared, rows, ledger=ledger, dataset=DATASET, place=folder / "store")
        passwords = {name: token_urlsafe(9) for name in (CURATOR, *ANALYSTS)}
        house.people.accept(house.people.invite("curator", CURATOR), CURATOR, passwords[CURATOR])
        tokens = {name: _analyst(house, name, passwords[name]) for name in ANALYSTS}
        _ask(house)
    return DemoServer(url, passwords, tokens)


def _declared(spec: Spec) -> dict[str, Any]:
    columns = {one.name: list(one.values) for one in spec.domain}
    return {"title": "Households of Rochdale", "tables": {_TABLE: {"rows": _ROWS, "columns": columns}}}


def _households(spec: Spec) -> Any:
    """A row for each household. The data set is public: of confidential data nobody makes this."""
    names = spec.domain.names
    table = pipeline.count(spec, tables=[names]).table(names).to_pandas()
    return table.loc[table.index.repeat(table["count"]), list(names)].astype(str)


def _analyst(house: House, name: str, password: str) -> str:
    """An analyst with half of the cap and a token."""
    house.ledger.add_account(name)
    house.ledger.grant(name, DATASET, PureDP(_CAP / len(ANALYSTS)))
    person = house.people.accept(house.people.invite("analyst", name), name, password)
    return house.tokens.make(person, ALLOWED["analyst"], label="demo", days=1)[1]


def _ask(house: House) -> None:
    ann, bob = ANALYSTS
    with Session.open(house.ledger, ann) as session:
        for names in _RELEASED:
            session[_TABLE].tables([names]).release(eps=_EACH)
    for one in house.ledger.records(RequestRecord):
        publish(house, one.id)
    with Session.open(house.ledger, bob) as session:
        session.ask(_ASKED).release(eps=_REST)

"""What a plan that looks at the data cannot do, said before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from margrave.planning.limits import CANDIDATES

if TYPE_CHECKING:
    from margrave.spec.spec import Spec


def no_looking(spec: Spec, candidates: int) -> str | None:
    """Why a spec cannot be planned adaptively; None where it can.

    Public facts and sensitive attributes make some tables exact, which a graphical model does not keep; and with facts
    one person can move a table by more than a record, which would be another price for each selection.
    """
    if spec.public:
        return "public facts are not kept by the model that it fits"
    if spec.sensitive:
        return "with sensitive attributes the tables of the others are exact, and the model that it fits keeps none"
    if spec.structural_zeros:
        return "the model that it fits knows no impossible combinations"
    if not candidates:
        return "no pair of attributes of a wanted table is small enough to be chosen"
    if candidates > CANDIDATES:
        return f"it chooses between up to {CANDIDATES} pairs of attributes, and the wanted tables have {candidates}"
    return None

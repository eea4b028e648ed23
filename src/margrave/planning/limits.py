"""How large a table each way of planning and publishing takes on: shared by those who do it and by predictions."""

from collections.abc import Sequence
from math import prod

COUNTED_RECORDS = 1 << 40
"""Counting refuses more records than this, so that plans can be checked against overflow before any data is opened."""
QUERY_CELLS = 1 << 24
"""No single query may have more outputs than this."""
SOUGHT_CELLS = 1 << 20
"""The most cells of a margin that the search counts, wanted tables excepted, and of a base table tried beside it."""
FEW_TABLES = 100
"""With public facts, noise of its own for every table is tried for up to so many: forecasts of more take long."""
BOUNDED_CELLS, PROGRAM_BOUNDED_CELLS = 1 << 16, 96
"""What facts reveal is bounded for tables of up to so many cells, and where that takes whole-number programs."""

LISTED_ATTRIBUTES = 14
"""The most attributes of a table below which all margins are listed one by one: 16,384 of them."""
LISTED_NUMBERS = 1 << 24
"""The most numbers that the residuals below one table are held in, all together."""
FEW_ATTRIBUTES, LISTED_MARGINS = 10, 1 << 16
"""Tables of more attributes than the first are many if they have more margins below them than the second."""
WIDE_CELLS, ALL_WIDE_CELLS = 1 << 20, 1 << 24
"""The most cells of a table whose margins are not listed, and of all such tables together."""

MODEL_CELLS = 1 << 18
"""The most cells of all cliques of a graphical model together: one step of its fit goes through all of them."""
CANDIDATES = 2000
"""The most tables that a plan which looks at the data chooses between: in each round each meets the model."""

FULL_CELLS = 10**7
"""Above this many cells no full table is held, and so none is made non-negative as a whole."""
FITTED_CELLS = 10**5
"""Above this many cells, and up to those, a full table is made non-negative as a whole only where it is wanted itself
or all of it is measured, where its rounding was chosen, or where no records can be fitted: these are as accurate, in
less time (docs/adaptive.md).
"""
RECORD_READS = 120_000
"""The most numbers read for a record, values times tables, for which records are fitted without being asked for."""
RECORD_KINDS = 32
"""How many kinds of records there are at most."""
RECORD_SETTLES, RECORD_STATES, RECORD_FREEZES = (1, 10), (2, 40), (4, 40)
"""The fewest and the most sweeps over a set of records: at each temperature before its states count, afterwards with a
state each, and at the end without temperature.
"""
SETTLE_READS, STATE_READS, HELD_READS, FREEZE_READS = 200_000_000, 325_000_000, 2_600_000_000, 8_000_000_000
"""Within those limits there are as many sweeps of each kind as read so many numbers: of states, the first while a
temperature is tried, the second once it is taken.
"""
RECORD_SIMULATIONS = ((16, 2 * 10**7), (8, 10**8), (4, 6 * 10**8))
"""How often the error bars of records are simulated, by the most numbers that a sweep reads."""
ENTROPY_CELLS = 1 << 20
"""The largest full table that is fitted by maximum entropy."""
PROGRAM_CELLS = 1 << 16
"""The largest full table for which the min–max program is solved."""
QUICK_CELLS = 1 << 12
"""Up to this many cells least squares are quick from any start, whatever was measured."""
FLOW_CELLS, KEPT_CELLS = 1 << 16, 1 << 12
"""The most cells over the attributes of two exact margins, and of other exact counts, that rounding keeps them in."""
CHAIN_SIZE = 1 << 15
"""The largest product of cells and parameters for which a log-linear posterior mean is simulated."""
SMALL_CELLS, MEDIUM_CELLS = 1 << 12, 1 << 14
MANY_SIMULATIONS, FEW_SIMULATIONS = 48, 16
"""Error bars of small tables come from many simulations, of medium ones from few, of larger ones from none."""


def simulations(cells: int, method: str) -> int:
    """How many simulations a full table is worth: fewer where one takes long, none where they would take too long."""
    quick = cells <= SMALL_CELLS and method != "log-linear"
    return MANY_SIMULATIONS if quick else FEW_SIMULATIONS if cells <= MEDIUM_CELLS else 0


def sweeps(limits: tuple[int, int], budget: int, reads: int) -> int:
    """How many sweeps of so many reads each a budget of reads allows, within limits."""
    return min(max(budget // max(reads, 1), limits[0]), limits[1])


def record_simulations(reads: int) -> int:
    """How many simulations records are worth for which a sweep reads so many numbers."""
    return next((count for count, most in RECORD_SIMULATIONS if reads <= most), 0)


def is_wide(sizes: Sequence[int]) -> bool:
    """Whether the residuals below a table, by the sizes of its attributes, are too many to be held one by one."""
    return len(sizes) > LISTED_ATTRIBUTES or prod(size + 1 for size in sizes) > LISTED_NUMBERS


def listable(widths: Sequence[int]) -> bool:
    """Whether the margins below some tables, by the numbers of their attributes, can be listed to plan over them."""
    wide = [width for width in widths if width > FEW_ATTRIBUTES]
    return max(wide, default=0) <= LISTED_ATTRIBUTES and sum(1 << width for width in wide) <= LISTED_MARGINS

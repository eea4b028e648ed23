"""How large a table each way of publishing takes on: shared by those who fit it and by what is predicted of them."""

FULL_CELLS = 10**7
"""Above this many cells no full table is held, and so none is made non-negative as a whole."""
RECORD_READS = 120_000
"""The most numbers read for a record, values times tables, for which records are fitted without being asked for."""
KINDS = 32
"""How many kinds of records there are at most."""
RECORD_SETTLES, RECORD_STATES, RECORD_FREEZES = (1, 10), (2, 40), (4, 40)
"""The fewest and the most sweeps over a set of records: at each temperature before its states count, afterwards with a
state each, and at the end without temperature.
"""
SETTLE_READS, STATE_READS, FREEZE_READS = 800_000_000, 1_300_000_000, 8_000_000_000
"""Within those limits there are as many sweeps of each kind as read so many numbers."""
RECORD_SIMULATIONS = ((16, 2 * 10**7), (8, 3 * 10**8), (4, 6 * 10**8))
"""How often the error bars of records are simulated, by the most numbers that a sweep reads."""
ENTROPY_CELLS = 1 << 20
"""The largest full table that is fitted by maximum entropy."""
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

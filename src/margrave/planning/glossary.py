"""The words of plans and reports, each with what it means: one list for the terminal, the report and the docs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """A word and its meaning; ``reported`` if it stands in the report of a release."""

    word: str
    meaning: str
    reported: bool = False

    @property
    def key(self) -> str:
        """The word as an anchor."""
        return "-".join("".join(one if one.isalnum() else " " for one in self.word.lower()).split())


GLOSSARY = (
    Word("attribute", "What a record says one thing about: a question of a survey, a column of a table."),
    Word("budget", "The privacy loss that a curator is willing to spend: ε, (ε, δ) or ρ.", True),
    Word("cell", "One combination of values of a table's attributes, and how many records have it.", True),
    Word("contrast", "A difference between two halves of a table, measured in place of its counts."),
    Word("curator", "Whoever holds the data and answers for it."),
    Word(
        "differential privacy",
        "A guarantee: whatever is published would have come out nearly as likely without any one person's record.",
        True,
    ),
    Word(
        "ε (epsilon)",
        "The privacy loss: the smaller, the less can be found out about one person, and the more noise.",
        True,
    ),
    Word(
        "δ (delta)",
        "The probability with which the bound by ε may fail; it should be far below one in the records.",
        True,
    ),
    Word("ρ (rho)", "The privacy loss of Gaussian noise, in a unit that adds up (zero-concentrated privacy).", True),
    Word("exact", "Without noise: public already, or a cell that cannot hold anybody.", True),
    Word("forecast", "The error that tables will have, from the plan alone, before any data is opened."),
    Word(
        "interval",
        "The range in which the true count lies, in as many cases out of a hundred as its level says.",
        True,
    ),
    Word("L1", "All cells' distances from the truth, added up."),
    Word("ledger", "The book that keeps what was spent on a data set, so that several releases stay within a cap."),
    Word("margin", "A set of attributes; the table over them sums over all others."),
    Word("measurement", "A question that is put to the data, with the noise that its answer gets."),
    Word(
        "microdata", "Records, one a row. Published ones are synthetic: only their tables are those of the data.", True
    ),
    Word("neighbours", "Two data sets that differ in one unit: what a guarantee says cannot be told apart."),
    Word("noise", "A random number that is added to a count, so that no count tells of one person.", True),
    Word("public fact", "Counts that everybody knows already, and that tables must agree with.", True),
    Word("release", "What is published at one time, with what it cost."),
    Word("residual", "What a table says that no smaller table says."),
    Word("RMSE", "Root mean squared error: the typical distance of a cell from the truth."),
    Word("share", "A count divided by a total; its interval is that of the share, not of the two counts.", True),
    Word("standard error", "The typical distance from the truth.", True),
    Word("strategy", "The way in which a plan chooses what to measure. “search” looks for the best combination."),
    Word("structural zero", "A cell that cannot hold anybody by its meaning, such as pregnant men."),
    Word("unbiased", "Right on average: too large as often as too small. It may be negative or broken.", True),
    Word("unit", "Whom the guarantee protects: a person, a household, a visit.", True),
    Word("variance", "The square of the standard error.", True),
)
"""In the order of the alphabet, but for the Greek letters, which stand together."""

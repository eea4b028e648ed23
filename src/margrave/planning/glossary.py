"""The words of plans and reports, each with what it means: one list for the terminal, the report and the docs."""

from __future__ import annotations

from dataclasses import dataclass

from margrave.messages.catalogue import later


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
    Word(
        later("all cells within"),
        later("How far from the truth a table's cells are at most, all together, in 95 cases out of a hundred."),
    ),
    Word(later("attribute"), later("What a record says one thing about: a question of a survey, a column of a table.")),
    Word(later("budget"), later("The privacy loss that a curator is willing to spend: ε, (ε, δ) or ρ."), True),
    Word(
        later("cell"), later("One combination of values of a table's attributes, and how many records have it."), True
    ),
    Word(later("contrast"), later("A difference between two halves of a table, measured in place of its counts.")),
    Word(later("curator"), later("Whoever holds the data and answers for it.")),
    Word(
        later("differential privacy"),
        later(
            "A guarantee: whatever is published would have come out nearly as likely without any one person's record."
        ),
        True,
    ),
    Word(
        later("ε (epsilon)"),
        later("The privacy loss: the smaller, the less can be found out about one person, and the more noise."),
        True,
    ),
    Word(
        later("δ (delta)"),
        later("The probability with which the bound by ε may fail; it should be far below one in the records."),
        True,
    ),
    Word(
        later("ρ (rho)"),
        later("The privacy loss of Gaussian noise, in a unit that adds up (zero-concentrated privacy)."),
        True,
    ),
    Word(later("exact"), later("Without noise: public already, or a cell that cannot hold anybody."), True),
    Word(later("forecast"), later("The error that tables will have, from the plan alone, before any data is opened.")),
    Word(
        later("interval"),
        later("The range in which the true count lies, in as many cases out of a hundred as its level says."),
        True,
    ),
    Word(
        later("ledger"),
        later("The book that keeps what was spent on a data set, so that several releases stay within a cap."),
    ),
    Word(later("margin"), later("A set of attributes; the table over them sums over all others.")),
    Word(later("measurement"), later("A question that is put to the data, with the noise that its answer gets.")),
    Word(
        later("microdata"),
        later("Records, one a row. Published ones are synthetic: only their tables are those of the data."),
        True,
    ),
    Word(
        later("neighbours"), later("Two data sets that differ in one unit: what a guarantee says cannot be told apart.")
    ),
    Word(
        later("noise"), later("A random number that is added to a count, so that no count tells of one person."), True
    ),
    Word(later("public fact"), later("Counts that everybody knows already, and that tables must agree with."), True),
    Word(later("release"), later("What is published at one time, with what it cost.")),
    Word(later("residual"), later("What a table says that no smaller table says.")),
    Word(later("RMSE"), later("Root mean squared error: the typical distance of a cell from the truth.")),
    Word(
        later("share"),
        later("A count divided by a total; its interval is that of the share, not of the two counts."),
        True,
    ),
    Word(later("standard error"), later("The typical distance from the truth."), True),
    Word(
        later("strategy"),
        later("The way in which a plan chooses what to measure. “search” looks for the best combination."),
    ),
    Word(later("structural zero"), later("A cell that cannot hold anybody by its meaning, such as pregnant men.")),
    Word(later("sum of errors"), later("All cells' distances from the truth, added up. Also called L1.")),
    Word(
        later("unbiased"),
        later("Right on average: too large as often as too small. It may be negative or broken."),
        True,
    ),
    Word(later("unit"), later("Whom the guarantee protects: a person, a household, a visit."), True),
    Word(later("variance"), later("The square of the standard error."), True),
    Word(
        later("95 % within"),
        later("How far from the truth one cell is at most, in 95 cases out of a hundred: half of an interval."),
    ),
)
"""In the order of the alphabet, but for the Greek letters, which stand together, and what begins with a number."""

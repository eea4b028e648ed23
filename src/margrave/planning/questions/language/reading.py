"""Reading values and conditions of questions from text, by recursive descent over words, numbers, texts and signs.

A bare word is a column where the data set, or the question itself, has one of that name, and a text otherwise. Between
double quotes it is a column, whatever it says; between single ones a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn, TypeVar

from margrave.budget.numbers import exact_number
from margrave.errors import UsageError, suggest
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.kinds import Days, Kind, Values
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language.form import MOST_DEPTH
from margrave.planning.questions.language.hints import EMPTY, no_column
from margrave.planning.questions.language.tokens import Token, tokens_of, unquoted, word_problem

T = TypeVar("T")


class ValueReader:
    """Reads values and conditions over the columns of a data set."""

    def __init__(self, text: str, data: DataSpec) -> None:
        self._text, self._data = text, data
        self._tokens = tokens_of(text)
        self._at = self._depth = 0
        self._names = {column.name for table in data.tables for column in table.columns}
        self._made: set[str] = set()

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _is(self, *words: str) -> bool:
        token = self._next
        return token.kind in ("word", "sign") and token.text.lower() in words

    def _take(self, *words: str) -> bool:
        found = self._is(*words)
        self._at += found
        return found

    def _need(self, word: str) -> None:
        if not self._take(word):
            self._fail(f"{word!r} is expected")

    def _fail(self, text: str, hint: str = "") -> NoReturn:
        token = self._next
        here = repr(token.text[:40]) if token.text else "the end"
        raise UsageError(f"the question cannot be read: {text}, not {here} (at letter {token.place + 1}){hint}")

    def end(self) -> None:
        """Refuse what comes after the end of a question."""
        if self._is("by", "where", "join", "with"):
            self._fail(
                "nothing more is expected", ": what is asked stands last, 'people where age > 17 by region count'"
            )
        if self._next.kind != "end":
            self._fail("nothing more is expected")

    def _word(self, what: str) -> str:
        if self._next.kind != "word":
            self._fail(f"{what} is expected")
        self._at += 1
        return self._tokens[self._at - 1].text

    def _name(self, what: str) -> str:
        """A name: a word, or anything between double quotes."""
        if self._next.kind != "name":
            return self._word(what)
        self._at += 1
        return unquoted(self._tokens[self._at - 1].text)

    def _new_name(self) -> str:
        bare = self._next.kind == "word"
        name = self._name("a name")
        if self._is("("):
            raise UsageError(f"what is computed needs a name: write 'my_{name} = {name}(…)'")
        if bare and (problem := word_problem(name, "column")):
            raise UsageError(f"{problem}, or write it between double quotes")
        if self._is("="):
            self._made.add(name)
        self._names.add(name)
        return name

    def _several(self, one: Callable[[], T], sign: str = ",") -> tuple[T, ...]:
        found = [one()]
        while self._take(sign):
            found.append(one())
        return tuple(found)

    def _inside(self, one: Callable[[], T]) -> T:
        self._need("(")
        self._depth += 1
        if self._depth > MOST_DEPTH:
            self._fail(f"at most {MOST_DEPTH} levels are possible")
        found = one()
        self._depth -= 1
        self._need(")")
        return found

    def _whole(self) -> int:
        number = self._numeral().value
        if number.denominator != 1:
            self._fail("a whole number is expected")
        return int(number)

    # Conditions.

    def _condition(self) -> e.Condition:
        found = [self._both()]
        while self._take("or"):
            found.append(self._both())
        return found[0] if len(found) == 1 else e.AnyOf(tuple(found))

    def _both(self) -> e.Condition:
        found = [self._single()]
        while self._take("and"):
            found.append(self._single())
        return found[0] if len(found) == 1 else e.AllOf(tuple(found))

    def _single(self) -> e.Condition:
        if self._take("not"):
            return e.Negation(self._single())
        if self._is("(") and (found := self._tried(lambda: self._inside(self._condition))) is not None:
            return found
        return self._comparison()

    def _tried(self, one: Callable[[], T]) -> T | None:
        """A reading that may turn out to be another: a bracket begins a condition or a value."""
        at, depth = self._at, self._depth
        try:
            found = one()
        except UsageError:
            found = None
        if found is None or self._is(*e.COMPARISONS, "<>", "+", "-", "*", "//", "in", "is", "between"):
            self._at, self._depth = at, depth
            return None
        return found

    def _comparison(self) -> e.Condition:
        bare, left = self._next, self._value()
        other = {token.text for token in self._tokens[self._at + 1 : self._at + 2]}
        if isinstance(left, e.Text) and bare.kind == "word" and not other & self._names:
            raise UsageError(no_column(left.value, self._names))
        if self._take("is"):
            negated = self._take("not")
            if self._is(*EMPTY):
                self._fail("'missing' is expected")
            self._need("missing")
            return e.Negation(e.IsMissing(left)) if negated else e.IsMissing(left)
        negated = self._take("not")
        if self._take("in"):
            found: e.Condition = self._among(left)
        elif self._take("between"):
            low = self._value()
            self._need("and")
            found = e.AllOf((e.Compare(">=", left, low), e.Compare("<=", left, self._value())))
        elif not negated and self._is(*e.COMPARISONS, "<>"):
            sign = self._tokens[self._at].text
            self._at += 1
            return e.Compare("!=" if sign == "<>" else sign, left, self._compared(left))
        else:
            self._fail("a comparison is expected")
        return e.Negation(found) if negated else found

    def _compared(self, left: e.Value) -> e.Value:
        """What a value is compared with; a text where a number or a day is needed is a slip."""
        token, found = self._next, self._value()
        kinds = self._kinds(left) if isinstance(found, e.Text) and token.kind == "word" else []
        if token.text.lower() in EMPTY and kinds:
            raise UsageError(f"nothing equals what is missing: write 'is missing', not '= {token.text[:10]}'")
        if not kinds or any(isinstance(kind, Values) for kind in kinds):
            return found
        what = "day, such as 2024-12-31," if isinstance(kinds[0], Days) else "number"
        raise UsageError(f"{token.text[:100]!r} is no {what} and no column{suggest(token.text, self._names)}")

    def _kinds(self, value: e.Value) -> list[Kind]:
        """The declared kinds of a column, by its name; none where the question itself gives that name."""
        if not isinstance(value, e.Column) or value.name in self._made:
            return []
        return [one.kind for table in self._data.tables for one in table.columns if one.name == value.name]

    def _among(self, left: e.Value) -> e.Condition:
        if self._next.kind == "range" and not self._is_label(left, self._next.text):
            low, high = self._next.text.split("-")
            self._at += 1
            ends = (e.Numeral(Fraction(low)), e.Numeral(Fraction(high)))
            return e.AllOf((e.Compare(">=", left, ends[0]), e.Compare("<=", left, ends[1])))
        if self._next.kind == "range":
            return e.Among(left, (self._constant(),))
        if not self._is("("):
            self._fail("a range, such as 18-64, or values in brackets are expected after 'in'")
        return e.Among(left, self._inside(lambda: self._several(self._constant)))

    def _is_label(self, left: e.Value, text: str) -> bool:
        return any(isinstance(kind, Values) and text in kind.values for kind in self._kinds(left))

    # Values.

    def _value(self) -> e.Value:
        found = self._term()
        while self._is("+", "-"):
            sign = self._tokens[self._at].text
            self._at += 1
            found = e.Arithmetic(sign, found, self._term())
        return found

    def _term(self) -> e.Value:
        found = self._factor()
        while self._is("*", "//"):
            if self._take("//"):
                found = e.Divide(found, self._whole())
            else:
                self._at += 1
                found = e.Arithmetic("*", found, self._factor())
        return found

    def _factor(self) -> e.Value:
        token = self._next
        if self._is("("):
            return self._inside(self._value)
        if token.kind == "name":
            return e.Column(self._name("a column"))
        if token.kind == "word":
            return self._worded(token.text)
        return self._constant()

    def _worded(self, word: str) -> e.Value:
        lower = word.lower()
        calls = self._tokens[self._at + 1].text == "("
        if lower == "case":
            return self._case()
        if lower == "bins" and calls:
            self._at += 1
            return self._inside(self._bins)
        if lower in e.DATE_PARTS and calls and not (lower == "day" and self._tokens[self._at + 2].kind == "text"):
            self._at += 1
            return e.DatePart(lower, self._inside(self._value))
        if lower == "missing":
            self._at += 1
            return e.Missing()
        if word in self._names and not word_problem(word, "column"):
            self._at += 1
            return e.Column(word)
        return self._constant()

    def _case(self) -> e.Value:
        self._need("case")
        branches = []
        while self._take("when"):
            condition = self._condition()
            self._need("then")
            branches.append(e.When(condition, self._value()))
        default = self._value() if self._take("else") else e.Missing()
        self._need("end")
        return e.Case(tuple(branches), default)

    def _bins(self) -> e.Value:
        value = self._value()
        self._need(",")
        return e.Binned(value, self._several(self._numeral))

    def _constant(self) -> e.Value:
        token = self._next
        if token.kind == "text":
            self._at += 1
            return e.Text(unquoted(token.text))
        if token.kind == "day":
            self._at += 1
            return e.Day(token.text)  # type: ignore[arg-type]
        if token.kind == "range":
            self._at += 1
            return e.Text(token.text)
        if token.kind == "word" and self._tokens[self._at + 1].text == "(" and token.text.lower() in ("day", "number"):
            self._at += 1
            text = self._inside(self._quoted)
            return e.Day(text) if token.text.lower() == "day" else e.Numeral(exact_number(text))  # type: ignore[arg-type]
        if token.kind == "word":
            if word_problem(token.text, "column"):
                self._fail("a value is expected")
            self._at += 1
            return e.Text(token.text)
        return self._numeral()

    def _quoted(self) -> str:
        if self._next.kind != "text":
            self._fail("a quoted text is expected")
        self._at += 1
        return unquoted(self._tokens[self._at - 1].text)

    def _numeral(self) -> e.Numeral:
        if self._is("("):
            return self._inside(self._numeral)
        if self._is("number"):
            self._at += 1
            return e.Numeral(exact_number(self._inside(self._quoted)))
        sign = -1 if self._take("-") else 1
        if self._next.kind != "number":
            self._fail("a number is expected")
        self._at += 1
        number, after = self._tokens[self._at - 1], self._tokens[self._at : self._at + 2]
        thousands = len(after) == 2 and after[0].text == "," and re.fullmatch(r"\d{3}", after[1].text)
        if thousands and self._text[number.place :].startswith(f"{number.text},{after[1].text}") and not self._depth:
            self._fail(f"a number is written without commas, {number.text}{after[1].text}: what is asked is expected")
        return e.Numeral(sign * exact_number(number.text))

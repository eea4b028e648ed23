"""A TOML document of the public side: its text, its values with exact decimals, and the lines of its problems."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TypeVar

from margrave.errors import Problem, SpecError, suggest
from margrave.files.extensions import is_data
from margrave.files.untrusted import MOST_DOTS, MOST_SPEC
from margrave.spec.reader import Node, TooManyError
from margrave.spec.toml import line_of, locate

Loaded = TypeVar("Loaded")
_OTHER_FORMS = (".yaml", ".yml", ".json", ".ini", ".cfg", ".xml")
"""How the names of files end that hold what a spec holds, but not in its form."""
_KEY = r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[A-Za-z0-9_-]++)"""
_DOTTED = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_KEY}[ \t]*+\.[ \t]*+){{{MOST_DOTS}}}")

_MISTAKES = (
    (re.compile(r"[^=#]*=\s*[+-]?\d+,\d+\s*(#.*)?$"), "; write numbers with a point, as in 0.5"),
    (re.compile(r"[^=#]*=\s*[+-]?[\d.]+\s*[%‰]"), "; write numbers without a sign after them, as in 0.05"),
    (re.compile(r"\s*[εϵδρ]\s*="), "; budgets are called epsilon, delta and rho"),
    (
        re.compile(r"\s*[^\s\"'=#\[{:]+( +[^\s\"'=#:]+)+ *=|\s*(?=[^=]*[^\x00-\x7f])[^\s\"'=#\[{:]+ *="),
        '; a name with blanks, or with letters beyond a to z, stands in quotes: "my age" = …',
    ),
    (re.compile(r'[^=#]*=\s*"[^"]*\\'), "; write / in paths in place of \\, or single quotes around them"),
    (
        re.compile(r"\s*-?\s*[\w\"' .-]+:(\s|$)"),
        "; this looks like YAML: a spec is TOML, with [sections] and key = value",
    ),
    (re.compile(r"\s*[{]"), "; this looks like JSON: a spec is TOML, with [sections] and key = value"),
    (re.compile(r"[^=#]*=\s*[^\s\"'\[{0-9+-][^\"'\[\]{}]*$"), '; text stands in quotes, as in "replace"'),
    (re.compile(r"[^=#]*=\s*[^\x00-\x7f]"), '; text stands in straight quotes, as in "replace"'),
)
"""What people write instead of TOML, by the line on which reading stopped."""
_REASONS = {
    "Unclosed array": "; a comma between values, or the bracket ] at the end, is missing here or on the line before",
    "Cannot declare": "; a section stands twice: put both together",
    "Cannot overwrite": "; the same name stands twice",
}
"""What else may help, by the reason for which reading stopped."""
_NAMES = re.compile(r"\('[^']*'(, '[^']*')*,?\)")
"""The name of a section as the reader of TOML writes it: ('privacy',)."""


def spec_text(path: Path) -> str:
    """The text of a spec. A file of data is not opened in its place."""
    if is_data(path):
        hint = f"a spec is a TOML file; 'margrave init {path} > spec.toml' drafts one from data"
        raise SpecError([Problem("file", f"is data by its name, not a spec: {hint}")], str(path))
    if path.suffix.lower() in _OTHER_FORMS:
        form = path.suffix.lower().strip(".").upper()
        hint = "write it as in docs/spec.md, or let 'margrave init' draft one"
        raise SpecError([Problem("file", f"is {form} by its name: a spec is a TOML file; {hint}")], str(path))
    return public_text(path)


def public_text(path: Path) -> str:
    """The text of a public file."""

    def fail(text: str, line: int | None = None) -> SpecError:
        return SpecError([Problem("file", text, line)], str(path))

    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise fail("is no ordinary file; a pipe or a device might never end")
        with path.open("rb") as handle:
            content = handle.read(MOST_SPEC + 1)
    except IsADirectoryError:
        raise fail("is a folder; name a spec file inside it") from None
    except FileNotFoundError:
        raise fail(f"no such file{suggest(path.name, _siblings(path))}") from None
    except (OSError, ValueError) as error:
        raise fail(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > MOST_SPEC:
        raise fail(f"is longer than {MOST_SPEC >> 20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise fail("is not UTF-8 text; save it as UTF-8", line) from None


def _siblings(path: Path) -> list[str]:
    try:
        return sorted(other.name for other in path.parent.iterdir() if other.suffix == ".toml")
    except OSError:
        return []


def load_document(
    source: str | Path | Mapping[str, object], checked: Callable[[Mapping[str, object], Path | None, str, str], Loaded]
) -> Loaded:
    """What is made of a file, of TOML text (text with more than one line), or of a mapping.

    ``checked`` is given the values, the folder from which relative paths start, the name for errors, and the text.
    """
    if isinstance(source, Mapping):
        return checked(source, None, "spec", "")
    if isinstance(source, str) and "\n" in source:
        return checked(parse_text(source, "spec"), None, "spec", source)
    path = Path(source)
    text = spec_text(path)
    return checked(parse_text(text, str(path)), path.parent, str(path), text)


def read_document(root: Node, read: Callable[[Node], Loaded | None], source: str, text: str) -> Loaded:
    """What is read of a document; all that is wrong with it is one error, with the lines of its text."""
    try:
        found = read(root)
    except TooManyError:
        found = None
    if found is None or root.problems:
        raise SpecError(with_lines(root.problems, text), source)
    return found


def parse_text(text: str, source: str) -> dict[str, object]:
    """The values of a document, its decimals exact; ``source`` names it in errors."""
    if (dotted := _DOTTED.search(text)) is not None:
        line = text.count("\n", 0, dotted.start()) + 1
        raise SpecError([Problem("syntax", f"{MOST_DOTS} words are joined by dots", line)], source)
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except RecursionError:
        raise SpecError([Problem("syntax", "lists or tables are nested too deeply")], source) from None
    except ValueError as error:  # a syntax error, or a whole number of thousands of digits
        raise SpecError([_syntax_problem(str(error), text)], source) from None


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond every limit
        return Decimal("NaN")


def _syntax_problem(message: str, text: str) -> Problem:
    if "limit" in message and "digits" in message:
        return Problem("syntax", "a whole number has thousands of digits")
    match = re.search(r"\s*\(at line (\d+), column (\d+)\)$", message)
    if match is None:
        return Problem("syntax", message)
    lines = text.splitlines()
    number = int(match[1])
    written = lines[number - 1] if number <= len(lines) else ""
    reasons = (hint for reason, hint in _REASONS.items() if message.startswith(reason))
    hint = next((hint for form, hint in _MISTAKES if form.match(written)), next(reasons, ""))
    said = _NAMES.sub(lambda names: "[" + ".".join(names[0].strip("(,)").replace("'", "").split(", ")) + "]", message)
    return Problem("syntax", f"{said[: said.rindex(match[0])]} (column {match[2]}){hint}", number)


def with_lines(problems: Iterable[Problem], text: str) -> list[Problem]:
    """The problems with their lines, in the order of the file."""
    lines = locate(text)
    placed = [replace(problem, line=line_of(problem.place, lines)) for problem in problems]
    return sorted(placed, key=lambda problem: problem.line or 0)


SPARK = "spark:"
"""What the name of data on a cluster begins with."""
SPARK_PARQUET = "spark:parquet:"
"""What stands before the path of Parquet files that workers of a cluster read."""


def located(source: str | None, base: Path | None) -> str | None:
    """A path, glob or URL of a spec, with a relative path made relative to the folder ``base``."""
    if source is None or base is None or "://" in source:
        return source
    if source.startswith(SPARK_PARQUET):
        return f"{SPARK_PARQUET}{base / source.removeprefix(SPARK_PARQUET)}"
    return source if source.startswith(SPARK) else str(base / source)

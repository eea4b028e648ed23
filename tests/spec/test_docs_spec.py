"""Every spec shown in docs/spec.md is read, and every mistake shown there prints what is shown."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from margrave.errors import SpecError
from margrave.spec import attributes as spec_attributes
from margrave.spec import choices
from margrave.spec import sections as spec_sections
from margrave.spec.spec import SECTIONS, Spec

PAGE = (Path(__file__).parents[2] / "docs/spec.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(match[1], match[2]) for match in BLOCK.finditer(PAGE)]
SPECS = [text for kind, text in BLOCKS if kind == "toml"]
MISTAKES = [(text, BLOCKS[at + 1][1]) for at, (kind, text) in enumerate(BLOCKS[:-1]) if BLOCKS[at + 1][0] == "text"]
SOUND = [text for text in SPECS if text not in dict(MISTAKES)]


def complete(text: str) -> str:
    """A shown part with the sections that it leaves out; they come after it, so that its lines keep their numbers."""
    spare = {
        "attributes": SOUND[0].partition("[attributes]")[2].partition("[release]")[0],
        "release": "all = 1\n",
        "privacy": "epsilon = 1\n",
    }
    return text + "".join(f"[{name}]\n{body}" for name, body in spare.items() if f"[{name}]" not in text)


def test_the_page_shows_both() -> None:
    assert len(SOUND) >= 4
    assert len(MISTAKES) >= 5
    assert all(section in tomllib.loads(SOUND[0]) for section in ("data", "attributes", "release", "privacy"))


@pytest.mark.parametrize("text", SOUND)
def test_shown_specs_parse(text: str) -> None:
    Spec.parse(complete(text))


@pytest.mark.parametrize(("text", "printed"), MISTAKES)
def test_shown_mistakes_print_what_is_shown(text: str, printed: str) -> None:
    with pytest.raises(SpecError) as caught:
        Spec.parse(complete(text))
    assert str(caught.value) == printed.rstrip("\n")


def test_shown_python_runs() -> None:
    for kind, text in BLOCKS:
        if kind == "python":
            names: dict[str, object] = {"Spec": Spec}
            exec(text, names)
            assert isinstance(names["spec"], Spec)


def test_every_key_and_choice_is_documented() -> None:
    keys = [
        *SECTIONS[:2], *spec_attributes.KEYS, *spec_sections.DATA_KEYS, *spec_sections.UNIT_KEYS,
        *spec_sections.RELEASE_KEYS, *spec_sections.PRIVACY_KEYS,
    ]  # fmt: skip
    words = [
        *choices.STRATEGIES, *choices.OBJECTIVES, *choices.NONNEGATIVE, *choices.ROUNDING, *choices.NEIGHBOURS,
        *choices.INDUCED,
    ]  # fmt: skip
    assert [key for key in keys if f"`{key}`" not in PAGE] == []
    assert [word for word in words if f'`"{word}"`' not in PAGE] == []

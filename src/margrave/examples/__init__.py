"""Bundled examples: four published tables, each with a spec that releases the margins of a model fitted to it.

Where the counts come from, what the values mean and what was corrected is told in ``docs/data.md``.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from shutil import copyfile

from margrave.errors import UsageError, suggest

_DESCRIPTIONS = {
    "fungus": "genetic linkage in barley powdery mildew: 6 binary loci, 70 offspring, 42 of 64 cells empty",
    "czech": "heart risk factors in a Czechoslovak car factory: 6 binary attributes, 1841 men, 1 of 64 cells empty",
    "rochdale": "wives' work and husbands' unemployment: 8 binary attributes, 665 households, 165 of 256 cells empty",
    "journey": "journey to work by income, synthetic: 4 x 4 zones x 16 incomes, 2291 workers, 182 of 256 cells empty",
}


def names() -> tuple[str, ...]:
    """The names of the bundled examples."""
    return tuple(_DESCRIPTIONS)


def path(name: str) -> Path:
    """The spec of a bundled example, a file; its data lies beside it, where the spec's ``source`` says."""
    return Path(str(files(__name__).joinpath(f"{_known(name)}.toml")))


def describe(name: str) -> str:
    """One line on a bundled example: what it is about, its attributes, its records and its empty cells."""
    return _DESCRIPTIONS[_known(name)]


def copy(name: str, folder: Path) -> tuple[Path, ...]:
    """Copy the spec and the data of an example into a folder; nothing that exists is overwritten."""
    spec = path(name)
    targets = {spec: folder / spec.name, spec.parent / "data" / f"{name}.csv": folder / "data" / f"{name}.csv"}
    for target in targets.values():
        if target.exists():
            raise UsageError(f"{target} exists already: name another folder")
    for source, target in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        copyfile(source, target)
    return tuple(targets.values())


def _known(name: str) -> str:
    if name in _DESCRIPTIONS:
        return name
    hint = suggest(name.lower(), names()) or "."
    raise UsageError(f"there is no bundled example {name!r}{hint} The examples are {', '.join(names())}.")

"""Files of data are known by their names, everywhere alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from margrave.files.extensions import COMPRESSIONS, is_data
from margrave.measure.sources import sources as sources
from margrave.measure.sources.registry import file_kinds, source_kinds


def test_whatever_is_read_as_data_is_not_opened_as_a_spec():
    read = {ending for kind in (*file_kinds(), *source_kinds()) for ending in kind.extensions}
    assert read
    assert {ending for ending in read if not is_data(Path(f"people{ending}"))} == {".txt"}, "a spec may be .txt too"


@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_a_compressed_file_is_data_whatever_it_was_before(ending):
    assert is_data(Path(f"people.txt{ending}")) and is_data(Path(f"PEOPLE.CSV{ending.upper()}"))


@pytest.mark.parametrize("name", ["spec.toml", "spec.txt", "spec", "csv", ".csv.toml"])
def test_other_names_are_not_of_data(name):
    assert not is_data(Path(name))

"""Tests mirror the source: who knows where a thing is knows where its tests are."""

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "margrave"
ACROSS = {"privacy"}
"""What concerns privacy as a whole, and so all rooms."""
NO_TESTS = {"facts/moves", "ledger/rules", "ledger/statements", "ledger/stores", "measure/engines", "measure/sources"}
NO_TESTS |= {"measure/sources/databases", "measure/sources/files"}
NO_TESTS |= {"planning/search", "publish/bundle", "publish/report", "publish/verification", "study/yang2012"}
NO_TESTS |= {"publish/framed", "publish/ways", "publish/bundle/parts", "publish/bundle/untrusted"}
"""Rooms within a room whose tests stand with those of the room."""


def folders(root, pattern):
    found = {path.parent.relative_to(root).as_posix() for path in root.rglob(pattern)}
    return {one for one in found if "__pycache__" not in one} - {"."}


def test_every_folder_of_tests_is_a_room():
    assert {one for one in folders(TESTS, "test_*.py") - ACROSS if not (SOURCE / one).is_dir()} == set()


def test_every_room_has_its_tests():
    assert folders(SOURCE, "*.py") - folders(TESTS, "test_*.py") - NO_TESTS == set()
    assert {one for one in NO_TESTS if (TESTS / one).is_dir() or not (SOURCE / one).is_dir()} == set()


def test_the_tests_of_commands_are_named_by_their_files():
    files = {path.stem.removeprefix("test_") for path in (TESTS / "cli").rglob("test_*.py")}
    assert files <= {path.stem for path in (SOURCE / "cli").rglob("*.py")}

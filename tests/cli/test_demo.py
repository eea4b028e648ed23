"""The demonstration."""

import sys

import pytest

from tests.cli.typed import inside


@pytest.mark.slow
def test_demo_shows_exact_and_private_tables(tmp_path):
    out = inside("demo", "fungus", "--out", str(tmp_path / "demo")).stdout
    assert "EXACT" in out and "PRIVATE" in out and "margrave release" in out
    assert "std_error" in out
    assert f"margrave explore {tmp_path / 'demo' / 'release'}" in out.replace(sys.argv[0], "margrave")

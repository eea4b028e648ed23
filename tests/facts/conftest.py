"""Tests keep nothing in the cache of the person who runs them."""

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MARGRAVE_CACHE", str(tmp_path / "cache"))

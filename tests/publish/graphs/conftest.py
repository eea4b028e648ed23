"""A folder with the spec and the edges of a small graph."""

import pandas as pd
import pytest

from tests.publish.graphs.friends import EDGES, SPEC


@pytest.fixture
def friends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.toml").write_text(SPEC, encoding="utf-8")
    pd.DataFrame(EDGES, columns=["one", "other"]).to_csv(tmp_path / "friends.csv", index=False)
    return tmp_path

"""The page on the format of a bundle names every key, and both pages on bundles link to what is there."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reading-a-release.md").read_text(encoding="utf-8")
FORMAT = (DOCS / "bundle-format.md").read_text(encoding="utf-8")


def test_links_and_pictures_exist():
    for page in (PAGE, FORMAT):
        for target in re.findall(r"\]\(([^)#]+)", page):
            assert (DOCS / target).exists(), target


def test_every_key_of_the_manifest_is_documented(releases, tmp_path):
    found = json.loads((releases["laplace"].save(tmp_path / "out") / "release.json").read_text(encoding="utf-8"))
    keys = [*found, "created", *found["guarantee"], *found["plan"], *found["events"][0]]
    assert [key for key in keys if f"`{key}`" not in FORMAT and key != "title"] == []

"""Makes the golden bundles of the current format version, those of graphs. Older ones are never made again."""

import json
from pathlib import Path

import pandas as pd

import margrave as mg
from margrave.publish.bundle.account import VERSION

HERE = Path(__file__).parent
SPEC = """
title = "Golden friends"
[data]
columns = ["one", "other"]
[graph]
directed = {directed}
nodes = {{ red = ["ann", "bob", "cid", "dan"], blue = ["eve", "fay", "gus", "hal"] }}
{known}
[privacy]
{budget}
"""
EDGES = ["ann bob", "ann cid", "bob cid", "dan eve", "eve fay", "fay gus", "gus hal", "hal eve"]


def make(name: str, **parts: str) -> None:
    edges = pd.DataFrame([edge.split() for edge in EDGES], columns=["one", "other"])
    out = mg.release(mg.GraphSpec.load(SPEC.format(**parts)), edges, seed="golden")
    out.save(HERE / name)
    found = {
        "cost": out.plan.cost.as_dict(),
        "blocks": out.measured.blocks.tolist(),
        "edges": out.edges().to_numpy().tolist(),
    }
    target = HERE / f"{name.removesuffix('.zip')}.json"
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    known = 'degrees = ["ann", "eve"]'
    make(f"v{VERSION}-graph", directed="false", known=known, budget="epsilon = 6")
    known = "out_degrees = { ann = 2, hal = 1 }"
    make(f"v{VERSION}-graph-directed.zip", directed="true", known=known, budget="rho = 2")

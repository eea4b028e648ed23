"""Makes the golden bundles of the current format version, that of large releases. Older ones are never made again."""

import dataclasses
import json
from pathlib import Path

import margrave as mg
from margrave.budget.units import ZCDP, exact_number
from margrave.publish.bundle import layout
from margrave.publish.bundle.manifest import VERSION
from margrave.spec.spec import Spec

HERE = Path(__file__).parent


def make(name: str, spec: Spec) -> None:
    out = mg.release(spec, mg.examples.path("fungus").parent / "data/fungus.csv", seed="golden")
    out.save(HERE / name)
    found = {
        "cost": out.plan.guarantee.as_dict(),
        "outputs": [answer.outputs.ravel().tolist() for answer in out.measured.answers],
        "tables": [
            {"table": list(margin), "unbiased": [round(x, 9) for x in out.noisy(*margin)["count"].tolist()]}
            for margin in out.plan.spec.margins
        ],
    }
    target = HERE / f"{name.removesuffix('.zip')}.json"
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    layout.MOST_TABLES, layout.PART_ROWS = 0, 16
    fungus = Spec.load(mg.examples.path("fungus"))
    make(f"v{VERSION}-laplace", dataclasses.replace(fungus, strategy="margins"))
    make(f"v{VERSION}-gauss.zip", dataclasses.replace(fungus, strategy="residual", budget=ZCDP(exact_number("0.5"))))

"""Every benchmark, one after the other. Run with: make bench"""

from __future__ import annotations

import runpy
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    for script in sorted(HERE.glob("*.py")):
        if script.name != "run.py":
            print(f"\n== {script.name} ==", flush=True)
            runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()

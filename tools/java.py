"""Whether there is a Java that Spark can run on, 17 or newer: the status with which this program ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = 17


def version() -> int:
    """The number of the Java that Spark would take, 0 where there is none."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None or not Path(program).exists():
        return 0
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    quoted = said.partition('"')[2].partition('"')[0]
    first = quoted.replace("-", ".").split(".")[0]
    return int(first) if first.isdigit() else 0


if __name__ == "__main__":
    sys.exit(version() < OLDEST)

"""The process that the engine runs in. It takes questions, one on each line, and gives back noisy whole numbers.

Nothing else crosses: no exact number, no row, no text of an error. It is started with the place of a store and reads
what is asked, with its budget, as JSON; prices, noise and SQL are its own.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from margrave.measure.questions.engine import Engine, noisy_answer
from margrave.noise import Generator
from margrave.planning.questions.every import read_asked

READY = "ready"
FAULTS = "faults.log"
"""In the folder of the store: when there was a fault, and of which kind."""


def main() -> None:
    """Answer until nobody asks any more."""
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    # What a library prints goes nowhere: only answers leave.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    engine, generator = Engine(Path(sys.argv[1])), Generator.system()
    _tell(out, {"kind": READY})
    for line in sys.stdin:
        _tell(out, _reply(engine, line, generator))


def _reply(engine: Engine, line: str, generator: Generator) -> dict[str, Any]:
    """The noisy numbers, or that there was a fault; its kind, without its text, goes to the curator's log."""
    try:
        return {"numbers": [str(one) for one in noisy_answer(engine, read_asked(json.loads(line)), generator)]}
    except Exception as error:
        with suppress(OSError), (Path(sys.argv[1]) / FAULTS).open("a", encoding="ascii") as log:
            log.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {type(error).__name__}\n")
        return {"fault": True}


def _tell(out: Any, reply: dict[str, Any]) -> None:
    out.write(json.dumps(reply) + "\n")
    out.flush()


if __name__ == "__main__":
    main()

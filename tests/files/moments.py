"""A program that writes an archive once for each moment of it, in a child that gets a signal at that moment.

A moment is a line of the modules that make, fill and remove the folder; with `opcode`, one of their instructions. The
parent imports little and has one thread, so that it may fork thousands of times. It prints, as JSON, how the children
ended and the moments after which something was left: `python -m tests.files.moments 15 line`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from margrave.files import temporary, writing

WATCHED = {module.__file__ for module in (temporary, writing, contextlib, shutil)}
UNHURT, ENDED, ASTRAY = 10, 11, 12


def end_at(moment: int, number: int, each: str) -> None:
    """From here on, send this process a signal at a moment."""
    passed = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal passed
        if frame.f_code.co_filename not in WATCHED:
            return None
        frame.f_trace_opcodes = each == "opcode"
        passed += event in (each, "return")
        if passed == moment:
            sys.settrace(None)
            os.kill(os.getpid(), number)
        return trace

    sys.settrace(trace)


def write(target: Path, moment: int, number: int, each: str) -> int:
    """How writing ended, as a code; what stands on the disk is looked at before anything is unwound further."""
    try:
        end_at(moment, number, each)
        writing.write_files(target, [("file", b"content")])
        return UNHURT
    except (SystemExit, KeyboardInterrupt):
        os._exit(ENDED)
    except BaseException:
        return ASTRAY
    finally:
        sys.settrace(None)


def main(number: int, each: str) -> None:
    """Moment after moment, until one is reached that is beyond the last."""
    ends: Counter[str] = Counter()
    left = []
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    while True:
        with tempfile.TemporaryDirectory() as folder:
            if not (child := os.fork()):
                os._exit(write(Path(folder, "out.zip"), ends.total() + 1, number, each))
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code == UNHURT:
                break
            ends["in order" if code in (ENDED, -number) else "astray"] += 1
            if any(path.name != "out.zip" for path in Path(folder).iterdir()):
                left.append(ends.total())
    print(json.dumps({"ends": ends, "left": left}))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])

"""Dying at a chosen call: how programs are killed in between any two steps."""

import os
import signal
import sys


def counted(action, watched, last=None):
    """Do something, counting the calls made by or in the watched code; die at the last."""
    calls = 0

    def profile(frame, event, _):
        nonlocal calls
        if event in ("call", "c_call") and watched(frame.f_code):
            calls += 1
            if calls == last:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls

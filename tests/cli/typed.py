"""Commands as a person or a script gives them."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from typer.testing import CliRunner

import margrave as mg
from margrave.cli.app import app, main

CZECH = str(mg.examples.path("czech"))


def apart(*arguments):
    """In a process of its own: exit codes and streams as they really are."""
    return subprocess.run(
        [sys.executable, "-m", "margrave", *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def run(*arguments):
    """In this process, as the program runs it: with the exit code and the words of its mistakes."""
    out, err = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", ["margrave", *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def inside(*arguments):
    """In this process, for commands that succeed."""
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result

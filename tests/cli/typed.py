"""Commands as a person or a script gives them."""

import subprocess
import sys

from typer.testing import CliRunner

import margrave as mg
from margrave.cli.app import app

CZECH = str(mg.examples.path("czech"))


def run(*arguments):
    """In a process of its own: exit codes and streams as they really are."""
    return subprocess.run(
        [sys.executable, "-m", "margrave", *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def inside(*arguments):
    """In this process, for commands that succeed."""
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result

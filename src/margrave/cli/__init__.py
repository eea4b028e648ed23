"""The command line: thin commands over the library. Every command has its help, its exit code, and no stack traces."""

from margrave.cli.app import main, program

__all__ = ["main", "program"]

"""``python -m margrave``."""

from margrave.cli import program

program()

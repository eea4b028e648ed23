"""``python -m margrave``."""

from margrave.cli.app import program

program()

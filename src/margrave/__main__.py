"""``python -m margrave``."""

from margrave.cli import main

main()

"""How much is believed of a file that somebody else may have made: every limit on reading one, with its reason.

A few bytes can announce, or unpack to, any amount. So whatever is read is bounded first, by what an honest file could
need, and refused in words beyond that. Sizes of tables and plans have limits of their own, where these are made.
"""

from __future__ import annotations

MOST_NUMBER = 10_000
"""Characters of an exact number. Sums of many fractions have thousands of digits; reading one takes time with their
square, so that 300,000 would take the better part of a minute.
"""
MOST_TEXT = 1_000
"""Characters of a name or a value. Each may be written again for each of a million cells."""
MOST_WORDS = 10_000
"""Characters of a title, a label, or the name of a file."""
MOST_DECLARED = 1 << 21
"""Values of all attributes of a spec together. ``range = [0, 99999]`` is short to write and long to hold."""
MOST_EXCLUDED = 1 << 22
"""Values that ``determines`` rules out in all. Each value implied rules out all others of its attribute."""
MOST_PROBLEMS = 10_000
"""Problems after which a spec is read no further: nobody reads more, and each takes time to tell."""
MOST_SPEC = 1 << 26
"""Bytes of a spec, or of a file of public counts beside it."""
MOST_DOTS = 100
"""Parts of a dotted key in a spec. A spec needs four; reading takes time with the square of their number."""

MOST_FILES = 1 << 16
"""Files of a bundle. Large releases have a file for a million numbers, others fewer than two thousand tables."""
MOST_DIRECTORY = MOST_FILES * 128
"""Bytes of the directory of an archive, each of whose entries takes some 700 bytes of memory."""
MOST_BYTES = 1 << 32
"""Bytes that a bundle unpacks to."""
MOST_REPORT = 1 << 26
"""Bytes of a report, which shows so many tables and rows and no more."""
MOST_SPARE = 1 << 20
"""Bytes that a file may have beside the numbers and words that it must hold."""
CHUNK = 1 << 20
"""Bytes that are read at a time where a file is only compared with its checksum."""

MOST_MANIFEST = 1 << 28
"""Bytes of `release.json`, which names each measurement: there may be two million."""
MOST_PACKED = 100
"""How many times longer than in its archive `release.json` may be. Honest ones shrink to a fifteenth."""
MOST_CONTAINERS, CONTAINER_BYTES = 1 << 23, 6
"""Lists and objects in `release.json`, and the bytes that it must have for each: an empty one has two and takes 64."""
MOST_ENTRIES = 1 << 24
"""Numbers and texts in `release.json`."""

MOST_RECORDS = 1 << 30
"""Rows of microdata. They are counted a batch at a time; equal rows in a run take next to nothing in a file."""
MOST_HELD = 1 << 28
"""Values of fitted records, rows times attributes, which are held as a whole."""
PAGE_ROWS = 256
"""The fewest values in a page of a Parquet file, on average. Honest ones have a thousand or more."""
GROUP_ROWS = 1 << 16
"""The fewest rows in a row group of a Parquet file, on average. Honest ones have twice as many or more."""
COLUMN_FOOTER = 1 << 12
"""Bytes that the footer of a Parquet file takes for a column of a row group, beside names and extreme values."""

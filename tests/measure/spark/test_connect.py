"""Spark Connect, in a process of its own: a session that has no JVM beside it, and no RDD."""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.measure.spark.people import people

pytestmark = pytest.mark.slow

QUICK = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "PYSPARK_PYTHON": sys.executable}

PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
session = SparkSession.builder.remote("local[1]").config("spark.sql.session.timeZone", "UTC").getOrCreate()
assert type(session).__module__.startswith("pyspark.sql.connect")
from margrave.measure import units
from margrave.measure.spark import jobs
from tests.measure.spark.people import KEY, counted, same
units.new_key = jobs.new_key = lambda: KEY
path, options = sys.argv[1], {"unit_column": "who", "max_records": 2}
here = counted(path, **options)
same(counted(session.read.parquet(path), **options), here)
same(counted("spark:parquet:" + path, **options), here)
session.read.parquet(path).createOrReplaceTempView("seen")
same(counted("spark:seen"), counted(path))
print("the same")
session.stop()
"""


def test_a_connected_session_counts_the_same(has_java, tmp_path):
    path = tmp_path / "people.parquet"
    pa.parquet.write_table(people(500), path)
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, path],
        env=os.environ | QUICK,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert found.stdout == "the same\n", found.stderr[-3000:]

"""A cluster of two executor processes for the tests, with all that it writes in one folder.

Its environment, `.venv-spark`, is made by make, and `make test` runs these tests there once more. Where there is no
pyspark, those that need it are not collected.
"""

from __future__ import annotations

import os
import runpy
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
JAVA = runpy.run_path(str(ROOT / "tools" / "java.py"))
collect_ignore = [] if find_spec("pyspark") else ["test_cluster.py", "test_connect.py", "test_silence.py"]

SETTINGS = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": os.urandom(16).hex(),
    "spark.eventLog.compress": "false",
    "spark.eventLog.enabled": "true",
    "spark.io.encryption.enabled": "true",
    "spark.network.crypto.enabled": "true",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "3",
    "spark.task.maxFailures": "4",
    "spark.ui.port": "0",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def has_java():
    if JAVA["version"]() < JAVA["OLDEST"]:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Java 17: apt-get install default-jre-headless")


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The folder of all that the cluster writes: events, logs of executors, its tables, the log of its driver."""
    return tmp_path_factory.mktemp("cluster")


def linked(source, target):
    """Spark as it is installed, in a folder where its executors may write their logs."""
    target.mkdir()
    for path in source.iterdir():
        if path.name != "work":  # the logs of others
            (target / path.name).symlink_to(path)
    return target


@contextmanager
def into(path):
    """What programs that are started here say of themselves goes into a file, for as long as they run."""
    kept = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


@pytest.fixture(scope="session")
def cluster(has_java, written):
    """`local-cluster`: a driver, and two executors that are processes of their own."""
    import pyspark
    from pyspark.sql import SparkSession

    (written / "events").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_HOME", str(linked(Path(pyspark.__file__).parent, written / "home")))
        patch.setenv("SPARK_LOCAL_DIRS", str(written / "local"))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        # Compiling well what runs for seconds takes more time than it saves.
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        builder = SparkSession.builder.master("local-cluster[2,1,1024]")
        builder = builder.config("spark.executorEnv.PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'src'}")
        builder = builder.config("spark.sql.warehouse.dir", str(written / "tables"))
        builder = builder.config("spark.eventLog.dir", str(written / "events"))
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        with into(written / "driver.log"):
            session = builder.getOrCreate()
        yield session
        program = session.sparkContext._gateway.proc
        session.stop()
        # Until it is waited for, its processor time is nobody's.
        program.stdin.close()
        program.wait(60)

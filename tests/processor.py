"""How much processor time the tests take, by folder: `make test` prints it at its end.

The time of a test is that of its process and of the processes it started and waited for, from the first fixture to the
last. What a worker does beside its tests (starting, collecting) is a row of its own. ``MARGRAVE_PROCESSOR=file`` keeps
the time of every test.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

BESIDE = "starting and collecting"
NAME = "processor"


def used():
    """Seconds of processor time up to now, those of ended children included."""
    return sum(os.times()[:4])


def folder(nodeid):
    """The top folder of a test, or its file where it stands in no folder."""
    inside = nodeid.removeprefix("tests/").split("::")[0]
    return inside.split("/")[0]


class Processor:
    """Counts the time of each test where it runs, and adds up where the run ends."""

    def __init__(self):
        self.began = 0.0
        self.tests = Counter()
        self.workers = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self):
        self.began = used()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "teardown":
            report.user_properties.append((NAME, used() - self.began))
        return report

    def pytest_runtest_logreport(self, report):
        self.tests[report.nodeid] += sum(value for name, value in report.user_properties if name == NAME)

    def pytest_sessionfinish(self, session):
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[NAME] = used()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        self.workers += getattr(node, "workeroutput", {}).get(NAME, 0.0)

    def pytest_terminal_summary(self, terminalreporter):
        folders = Counter()
        for nodeid, seconds in self.tests.items():
            folders[folder(nodeid)] += seconds
        whole = self.workers + sum(os.times()[:2]) if self.workers else used()
        folders[BESIDE] = whole - folders.total()
        terminalreporter.write_line(f"processor time, seconds: {whole:.0f} in all")
        for name, seconds in folders.most_common():
            terminalreporter.write_line(f"{seconds:8.1f}  {name}")
        if kept := os.environ.get("MARGRAVE_PROCESSOR"):
            lines = (f"{seconds:.3f} {nodeid}\n" for nodeid, seconds in self.tests.most_common())
            Path(kept).write_text("".join(lines), encoding="utf-8")

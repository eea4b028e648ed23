"""The whole study: all runs, on all cores, then the figures and the page."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

from margrave.errors import MargraveError, UsageError, suggest
from margrave.progress import Progress
from margrave.study.yang2012.grid import CONTENDERS, Task
from margrave.study.yang2012.journal import Journal, Rows, Settings, replace_file
from margrave.study.yang2012.page import write_page
from margrave.study.yang2012.printed import comparison
from margrave.study.yang2012.runs import work
from margrave.study.yang2012.summary import Summary

Results = Generator[tuple[Task, Rows], None, None]


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def reproduce(
    folder: Path,
    settings: Settings,
    version: str,
    *,
    jobs: int | None = None,
    again: str | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Run the study, or what is left of it, and write ``index.html``, the figures and ``study.json`` into a folder.

    ``again``: a contender whose runs in the folder are forgotten first.
    """
    try:
        from margrave.study.yang2012.figures import draw
    except ImportError:
        raise UsageError("the figures need another package: pip install 'margrave[study]'") from None
    summary = Summary(settings, run(folder, settings, version, jobs=jobs, again=again, progress=progress).done)
    figures = draw(summary)
    for name, png in figures.items():
        replace_file(folder / f"{name}.png", png)
    replace_file(folder / "study.json", json.dumps(summary.as_dict(), indent=1).encode())
    replace_file(folder / "index.html", write_page(summary, figures, comparison()).encode())
    return summary


def run(
    folder: Path,
    settings: Settings,
    version: str,
    *,
    jobs: int | None = None,
    again: str | None = None,
    progress: Progress | None = None,
) -> Journal:
    """Do what is not done yet, and keep each block as soon as it is finished."""
    count = cores() if jobs is None else jobs
    if not 1 <= count <= cores():
        raise UsageError(f"the number of jobs ({count}) must lie between 1 and the number of cores ({cores()})")
    if again is not None and again not in CONTENDERS:
        raise UsageError(f"unknown contender {again!r}{suggest(again, CONTENDERS)}; there are {', '.join(CONTENDERS)}")
    journal = Journal(folder, settings, version)
    if again is not None:
        journal.forget(again)
    total = sum(task.count for task in settings.tasks)
    done = sum(len(rows) for rows in journal.done.values())
    missing = journal.missing(settings.tasks)
    with closing(_shared(missing, count) if count > 1 and missing else _alone(missing)) as results:
        for task, rows in results:
            journal.append(task, rows)
            done += len(rows)
            if progress is not None:
                progress(done, total)
    return journal


def _alone(missing: list[Task]) -> Results:
    """The results of tasks done here, one after another."""
    for task in missing:
        yield work(task)


def _shared(missing: list[Task], jobs: int) -> Results:
    """The results of tasks done by several processes, in whatever order they come.

    Processes are new ones, not forks, and use one thread each. Whoever stops listening (an interruption) stops them
    too, once each has finished its block.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_leave_interruptions_alone)
    try:
        waiting: list[Future[tuple[Task, Rows]]] = [pool.submit(work, task) for task in missing]
        for future in as_completed(waiting):
            yield future.result()
    except BrokenProcessPool:
        raise MargraveError(
            "a worker of the study was killed, perhaps for want of memory: the same command goes on where it stopped"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _leave_interruptions_alone() -> None:
    """Ctrl-C reaches every process of a terminal; the parent alone decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

"""How long pages of the explorer take: of the server for a table of 10⁵ cells, and of a site in a real Chromium.

python benchmarks/explorer.py
"""

from __future__ import annotations

import gc
import shutil
import tempfile
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from time import perf_counter, process_time

import numpy as np
import pandas as pd

import margrave as mg
from margrave.cli.app import GARBAGE
from margrave.publish.explorer.library import library_of
from margrave.publish.explorer.server import HOST, ExplorerServer
from margrave.publish.explorer.site.writing import write_site
from margrave.spec.spec import Spec

REQUESTS, CHANGES = 300, 40
VIEWS = ("rows=a&columns=b&rows=c", "rows=a&rows=b&columns=c&order=largest", "rows=c&rows=a&columns=b&chart=heat")
STEPS = (
    "rows=a&columns=b",
    "rows=a&columns=b&share=rows",
    "rows=a&join.a=1:1&join.a=1:2",
    "rows=b&columns=a&minus.b=1",
)


def release_of(sizes: dict[str, int], folder: Path, **asked: object) -> Path:
    """A seeded release of one table over all attributes, from made-up records."""
    generator = np.random.default_rng(1)
    data = pd.DataFrame({name: generator.integers(1, size + 1, 20_000) for name, size in sizes.items()})
    document = {
        "title": " × ".join(map(str, sizes.values())),
        "attributes": {name: {"range": [1, size]} for name, size in sizes.items()},
        "release": {"tables": [list(sizes)], "strategy": "margins", **asked},
        "privacy": {"rho": "0.5"},
    }
    return mg.release(Spec.from_dict(document), data, seed=1).save(folder)


def served(folder: Path) -> None:
    """Views of 10⁵ cells, from the request to the last byte, on the loopback address."""
    place = release_of({"a": 50, "b": 50, "c": 40}, folder / "large", nonnegative="none")
    with ExplorerServer(library_of(place)) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        (key,) = server.library.entries
        times, worked = [], []
        for number in range(REQUESTS + len(VIEWS)):
            start, before = perf_counter(), process_time()
            connection = HTTPConnection(HOST, server.server_port)
            connection.request("GET", f"/r/{key}/table?{VIEWS[number % len(VIEWS)]}&numbers=unbiased")
            found = connection.getresponse()
            length = len(found.read())
            assert found.status == 200
            times.append(perf_counter() - start)
            worked.append(process_time() - before)
        server.shutdown()
        thread.join()
    for name, found in (("waited", times), ("processor", worked)):
        rest = 1000 * np.array(found[len(VIEWS) :])
        print(f"server, 10⁵ cells, {name}: median {np.median(rest):.0f} ms, p99 {np.quantile(rest, 0.99):.0f} ms")
    print(f"  the first time: {1000 * max(worked[: len(VIEWS)]):.0f} ms of processor; {length:,} bytes")


def written(folder: Path) -> None:
    """Changes of view in a site, from the change of the address to the new table."""
    from playwright.sync_api import sync_playwright

    place = release_of({"a": 20, "b": 25}, folder / "small", nonnegative="least-squares")
    library = library_of(place)
    write_site(library, folder / "site")
    print(f"site, first page: {(folder / 'site' / 'index.html').stat().st_size:,} bytes")
    (key,) = library.entries
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto((folder / "site" / "r" / key / "table.html").as_uri())
        tab.wait_for_selector("body[data-ready]")
        times = [tab.evaluate(_CHANGE, STEPS[number % len(STEPS)]) for number in range(CHANGES)]
        browser.close()
    print(f"site, 500 cells: median {np.median(times):.0f} ms, longest {max(times):.0f} ms for a change of view")


_CHANGE = """(address) => new Promise((done) => {
  const start = performance.now(), place = document.getElementById("drawing");
  new MutationObserver((_, watching) => {
    watching.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  }).observe(place, { childList: true });
  location.hash = address;
})"""


def main() -> None:
    gc.set_threshold(*GARBAGE)
    with tempfile.TemporaryDirectory() as name:
        served(Path(name))
        written(Path(name))


if __name__ == "__main__":
    main()

"""What tests of views share: a release with impossible cells, one whose every name is hostile, a site and a server."""

from threading import Thread

import pandas as pd
import pytest

import margrave as mg
from margrave.publish.explorer.library import library_of
from margrave.publish.explorer.server import ExplorerServer
from margrave.publish.explorer.site.writing import write_site
from margrave.spec.spec import Spec
from tests.publish.conftest import BASE

EVIL = "<img src=x onerror=\"document.title='run'\">"
SCRIPT = "</script><script>document.title='run'</script>"


@pytest.fixture(scope="session")
def zeros(data):
    impossible = [{"smoke": "yes", "age": "young"}]
    return mg.release(Spec.from_dict({**BASE, "release": {**BASE["release"], "impossible": impossible}}), data, seed=7)


@pytest.fixture(scope="session")
def evil():
    spec = {
        "title": f"{SCRIPT} & {EVIL}",
        "attributes": {
            EVIL: {"title": SCRIPT, "values": [EVIL, "'\"><b>"], "labels": {"'\"><b>": SCRIPT}},
            "plain": ["no", "yes"],
        },
        "release": {"tables": [[EVIL, "plain"]], "nonnegative": "none"},
        "privacy": {"epsilon": 1},
    }
    return mg.release(Spec.from_dict(spec), pd.DataFrame([{EVIL: EVIL, "plain": "no"}] * 9), seed=3)


@pytest.fixture(scope="session")
def shelf(releases, zeros, evil, tmp_path_factory):
    """A folder of bundles."""
    root = tmp_path_factory.mktemp("shelf")
    for name, out in {"laplace": releases["laplace"], "zeros": zeros, "evil": evil}.items():
        out.save(root / name)
    return library_of(root)


@pytest.fixture(scope="session")
def keys(shelf):
    return {one.path.name: one.key for one in shelf.entries.values()}


@pytest.fixture(scope="session")
def site(shelf, tmp_path_factory):
    place = tmp_path_factory.mktemp("site") / "site"
    write_site(shelf, place)
    return place


@pytest.fixture(scope="session")
def server(shelf):
    for entry in shelf.comparable:
        shelf.release(entry.key).simulate()
    with ExplorerServer(shelf) as found:
        thread = Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()

"""A unique string in the data, or in the data's whereabouts, must not come out anywhere on the way to a release."""

import io
import logging
import subprocess
import sys

import pandas as pd
import pytest

import margrave as mg
from margrave.errors import MargraveError

CANARY = "XK47QZ"
SPEC = """
[data]
source = "{source}"
[attributes]
a = ["0", "1"]
b = {{ range = [1, 3] }}
[release]
tables = [["a", "b"]]
[privacy]
epsilon = 1.0
"""


def chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def bad_files(folder):
    good = "a,b\n0,1\n1,2\n"
    texts = {
        "category": f"a,b\n{CANARY},1\n",
        "number": f"a,b\n0,{CANARY}\n",
        "column": f"a,b,c\n0,1,{CANARY}\n",
        "ragged": f"a,b\n0,1,{CANARY}\n",
        "quote": f'a,b\n0,"{CANARY}\n',
    }
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)
    pd.DataFrame({"a": ["0"], "b": [CANARY]}).to_parquet(folder / "column.parquet")
    damaged = (folder / "column.parquet").read_bytes()
    (folder / "damaged.parquet").write_bytes(damaged[: len(damaged) // 2] + CANARY.encode() + damaged[-30:])
    (folder / "good.csv").write_text(good)
    return sorted(path for path in folder.iterdir() if path.name != "good.csv")


@pytest.mark.slow
def test_no_error_log_or_repr_carries_it(tmp_path):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    failed = 0
    try:
        for path in bad_files(tmp_path):
            try:
                out = mg.release(mg.Spec.load(SPEC.format(source="unused")), path)
                assert CANARY not in repr(out)
            except MargraveError as error:
                failed += 1
                for link in chain(error):
                    assert CANARY not in f"{link} {link!r} {link.args}"
    finally:
        logging.getLogger().removeHandler(handler)
    assert failed >= 5
    assert CANARY not in stream.getvalue()


EACH = """
import sys
from margrave.cli.app import main

verb, *rest = sys.argv[1].split()
for spec in sys.argv[2:]:
    sys.argv = ["margrave", verb, spec, *rest]
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code or 0
    print("ended with", code, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["release --print", "count --not-private"])
def test_the_command_line_shows_neither_value_nor_trace(verb, tmp_path):
    files, specs = bad_files(tmp_path), []
    for path in files:
        specs.append(tmp_path / f"{path.name}.toml")
        specs[-1].write_text(SPEC.format(source=path.name))
    command = [sys.executable, "-c", EACH, verb, *map(str, specs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ends = [int(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("ended with")]
    for path, code in zip(files, ends, strict=True):
        assert code == 1 or path.name == "column.csv", path
    assert CANARY not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr

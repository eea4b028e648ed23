"""Takes the pictures of the report that the documentation shows. Needs Chromium: python docs/images/make.py"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import margrave as mg

HERE = Path(__file__).parent
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--allow-file-access-from-files",
)  # fmt: skip
DARK = "--blink-settings=preferredColorScheme=0"
FRAME = """<!doctype html><body style="margin:0;overflow:hidden"><iframe src="{address}"
style="border:0;width:{width}px;height:9000px;margin-top:-{top}px"></iframe></body>"""


def shoot(report: Path, name: str, width: int, height: int, top: int = 0, *flags: str) -> None:
    """A picture of a part of a page, as a phone or a desktop shows it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("Chromium is needed for pictures")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Path(folder, "frame.html")
        page.write_text(FRAME.format(address=report.as_uri(), width=width, top=top), encoding="utf-8")
        command = [browser, *FLAGS, *flags, f"--user-data-dir={folder}/profile", f"--window-size={width},{height}"]
        command += [f"--screenshot={HERE / name}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name, title in (("czech", "Heart risk factors in a car factory"), ("journey", "Journey to work by income")):
            spec = replace(mg.Spec.load(mg.examples.path(name)), title=title)
            mg.release(mg.plan(spec)).save(Path(folder, name))
        czech, journey = (Path(folder, name, "report.html") for name in ("czech", "journey"))
        shoot(czech, "report-desktop.png", 800, 1215)
        shoot(czech, "report-phone.png", 500, 1000, 1215)
        shoot(journey, "report-heat-map.png", 800, 575, 1795)
        shoot(czech, "report-dark.png", 800, 900, 870, DARK)

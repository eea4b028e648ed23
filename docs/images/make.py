"""Takes the pictures of reports and of the explorer that the docs show. Needs Chromium: python docs/images/make.py"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import margrave as mg
from margrave.publish.explorer.library import library_of
from margrave.publish.explorer.site.writing import write_site

HERE = Path(__file__).parent
TITLES = {"czech": "Heart risk factors in a car factory", "journey": "Journey to work by income"}


def shoot(
    browser: Browser, report: Path, name: str, size: tuple[int, int], *, at: str = "", scheme: str = "light"
) -> None:
    """A picture of a part of a page, from the place ``at`` on, as a phone or a desktop shows it."""
    tab = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    tab.goto(report.as_uri() + at)
    tab.wait_for_load_state("networkidle")
    tab.screenshot(path=HERE / name)
    tab.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        reports = {}
        Path(folder, "out").mkdir()
        for name, title in TITLES.items():
            spec = replace(mg.Spec.load(mg.examples.path(name)), title=title)
            reports[name] = mg.release(mg.plan(spec)).save(Path(folder, "out", name)) / "report.html"
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shoot(browser, reports["czech"], "report-desktop.png", (1000, 1250))
        shoot(browser, reports["journey"], "report-cross.png", (1000, 900), at="#table-1")
        shoot(browser, reports["czech"], "report-phone.png", (390, 1000), at="#tables")
        shoot(browser, reports["czech"], "report-dark.png", (1000, 900), at="#tables", scheme="dark")
        explored(browser, Path(folder))
        browser.close()


def explored(browser: Browser, folder: Path) -> None:
    """Pictures of the explorer, from a site of files."""
    library = library_of(folder / "out")
    write_site(library, folder / "site")
    keys = {one.path.name: one.key for one in library.entries.values()}
    table = folder / "site" / "r" / keys["journey"] / "table.html"
    view = "#rows=home&columns=work&share=rows"
    shoot(browser, folder / "site" / "index.html", "explorer-catalogue.png", (1000, 560))
    shoot(browser, table, "explorer-table.png", (1280, 860), at=view)
    shoot(browser, table, "explorer-phone.png", (390, 1000), at="#rows=work&chart=bars", scheme="dark")


if __name__ == "__main__":
    main()

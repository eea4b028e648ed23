"""Takes the pictures of the server's pages that the documentation shows: python docs/images/server.py"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

HERE = Path(__file__).parent
DATASET = "rochdale@1"
START = 120


class Demo:
    """``margrave serve --demo``, and what it printed."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "margrave", "serve", "--demo", "--port", "0", "--workers", "1"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.said = ""
        assert self.process.stdout is not None
        while "serves at" not in self.said and (line := self.process.stdout.readline()):
            self.said += line
        found = re.search(r"serves at\s+(\S+)", self.said)
        assert found is not None, self.said
        self.address = found[1]

    def password(self, name: str) -> str:
        return re.search(rf"{name}: password (\S+?),?\s", self.said)[1]  # type: ignore[index]


def visitor(browser: Browser, demo: Demo, name: str, size: tuple[int, int], scheme: str = "light") -> Page:
    """Somebody who has logged in."""
    tab = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    for _ in range(START):
        try:
            tab.goto(f"{demo.address}/login")
            break
        except Exception:
            time.sleep(1)
    tab.fill('[name="name"]', name)
    tab.fill('[name="password"]', demo.password(name))
    tab.get_by_role("button", name="Log in").click()
    tab.wait_for_load_state()
    return tab


def shoot(tab: Page, place: str, name: str, *, whole: bool = False) -> None:
    if place:
        tab.goto(place)
    tab.screenshot(path=HERE / name, full_page=whole)


def main() -> None:
    demo = Demo()
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            bench = f"{demo.address}/ask/{DATASET}?what=count&by=wife_active&by=husband_unemployed&amount=0.1"
            ann = visitor(browser, demo, "ann", (1280, 1000))
            shoot(ann, bench, "server-workbench.png")
            ann.get_by_role("button", name="Ask, and pay").click()
            ann.locator("td.bars").first.wait_for(timeout=60_000)
            shoot(ann, "", "server-answer.png")
            phone = visitor(browser, demo, "ann", (390, 1100), "dark")
            shoot(phone, bench + "#explained", "server-phone.png")
            carla = visitor(browser, demo, "carla", (1280, 900))
            allows = "account=ann&dataset=rochdale%401&amount=0.5&unit=epsilon&expires="
            shoot(carla, f"{demo.address}/curate/grants?{allows}", "server-grants.png")
            for place in sys.argv[1:]:  # others, to look at
                shoot(carla, demo.address + place, f"look{place.replace('/', '-').partition('?')[0]}.png", whole=True)
            browser.close()
    finally:
        demo.process.terminate()
        demo.process.wait(60)


if __name__ == "__main__":
    main()

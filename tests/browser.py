"""A real browser on pages of the product, that keeps what goes wrong in them."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
SECONDS = 30
WIDTHS = {"desktop": (1400, 900), "phone": (390, 844)}
OVERLAPS = """
(() => {
  const picture = document.querySelector(".canvas").picture;
  const boxes = picture.placed().filter((label) => label.box);
  const over = (a, b) => a.left < b.right - 0.01 && b.left < a.right - 0.01 &&
    a.top < b.bottom - 0.01 && b.top < a.bottom - 0.01;
  const pairs = boxes.flatMap(
    (a, n) => boxes.slice(n + 1).filter((b) => over(a.box, b.box)));
  return [boxes.length, pairs.length];
})()
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield this machine's Chromium; skip without it."""
    sync = pytest.importorskip("playwright.sync_api", reason="uv sync installs it")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no browser: apt install chromium")
    # Its sandbox cannot be set up by root.
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        yield browser
        browser.close()


@dataclass(kw_only=True)
class Looking:
    """A page, and what its console and its requests told."""

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    @property
    def elsewhere(self) -> list[str]:
        """Return the addresses of other servers that the page asked."""
        own = (self.url, "data:", "blob:")
        return [url for url in self.asked if not url.startswith(own)]

    def show(self, place: str) -> None:
        """Go to a screen and wait until it stands."""
        self.run(
            "document.getElementById('main')?.setAttribute('data-screen', 'waiting')"
        )
        self.page.goto(f"{self.url}/explore/{place}")
        ready = "#main[data-screen]:not([data-screen=waiting])"
        self.page.wait_for_selector(ready, timeout=1000 * SECONDS)

    def run(self, script: str) -> Any:
        """Run a script in the page, whose policy lets no page evaluate texts."""
        session = self.page.context.new_cdp_session(self.page)
        asked = {"expression": script, "awaitPromise": True, "returnByValue": True}
        answer = session.send("Runtime.evaluate", asked)
        session.detach()
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def work(self, script: str) -> float:
        """Return how many seconds the page's thread works for a script."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def worked() -> float:
            told = session.send("Performance.getMetrics")["metrics"]
            return float({m["name"]: m["value"] for m in told}["TaskDuration"])

        before = worked()
        self.run(script)
        return worked() - before

    def faults(self) -> list[str]:
        """Return what axe-core finds serious or critical."""
        if not AXE.exists():
            folder = Path(__file__).parent.name
            pytest.skip(f"npm install --no-save --prefix {folder} axe-core installs it")
        self.run(AXE.read_text("utf-8"))
        found = self.run("axe.run(document).then((found) => found.violations)")
        return [
            f"{one['id']}: {one['nodes'][0]['html'][:160]}"
            for one in found
            if one["impact"] in {"serious", "critical"}
        ]


@contextmanager
def looking(
    browser: Browser, url: str, *, width: str = "desktop", scheme: Any = "light"
) -> Iterator[Looking]:
    """Yield a page of a width whose console and requests are kept."""
    wide, high = WIDTHS[width]
    context = browser.new_context(
        viewport={"width": wide, "height": high}, color_scheme=scheme
    )
    page = context.new_page()
    look = Looking(page=page, url=url)
    page.on(
        "console",
        lambda said: look.errors.append(said.text) if said.type == "error" else None,
    )
    page.on("pageerror", lambda error: look.errors.append(str(error)))
    page.on("request", lambda request: look.asked.append(request.url))
    yield look
    context.close()

"""Runs the Chromium that npm's lock file brings, for tests, screenshots and benchmarks of web pages.

`CHROMIUM` in the environment names another one, such as that of the system.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from playwright.sync_api import sync_playwright

from scripts._build import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

VARIABLE: Final = "CHROMIUM"
"""The name of the variable that names another Chromium."""

_UNPACK: Final = 'import("@sparticuz/chromium").then(async (it) => console.log(await it.default.executablePath()))'
_OPTIONS: Final = (
    *("--no-sandbox", "--no-zygote", "--no-default-browser-check", "--no-pings", "--font-render-hinting=none"),
    *("--ignore-gpu-blocklist", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
)
"""Without a graphics card, WebGL is computed by the processor."""

_START: Final = 180_000
"""The milliseconds in which Chromium must start, also on a busy machine."""


def chromium() -> str:
    """Return the path of Chromium. It is unpacked once into `.cache/`."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    folder = ROOT / ".cache" / "browser"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        completed = subprocess.run(  # noqa: S603  # our own program
            ["node", "-e", _UNPACK],  # noqa: S607  # Node of the PATH, as in set-up
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(folder)},
            check=True,
            capture_output=True,
            text=True,
        )
    return str(Path(completed.stdout.strip()))


@contextmanager
def running_browser(*options: str) -> Iterator[Browser]:
    """Run Chromium, and end it whatever happens. Use it in one thread only, in which no event loop runs.

    Args:
        *options: Further options of Chromium.

    Yields:
        The browser.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=[*_OPTIONS, *options], timeout=_START)
        try:
            yield browser
        finally:
            browser.close()

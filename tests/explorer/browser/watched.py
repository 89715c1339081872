"""Windows of the browser that note what goes wrong in them."""

from __future__ import annotations

from functools import cache

from scripts._build import ROOT

SIZES = {
    "phone": {"width": 390, "height": 844},
    "laptop": {"width": 1280, "height": 800},
    "wide": {"width": 1920, "height": 1080},
}

PATIENCE = 120_000
"""The milliseconds to wait for a page, and for things on it."""

MARKER = "executed"
"""The name of the global variable that a text of an attacker sets if it runs."""

_PIXELS_READ = "GPU stall due to ReadPixels"
"""The warning of a driver whose picture the processor reads, as it does without a graphics card."""

_OVERFLOW = """() => {
  const clips = (it) =>
    it && (getComputedStyle(it).overflowX !== "visible" || it.matches("svg") || clips(it.parentElement));
  return [...document.querySelectorAll("main *, footer *, header *")]
    .filter((it) => it.getBoundingClientRect().right > innerWidth + 1 && !clips(it.parentElement))
    .map((it) => it.outerHTML.slice(0, 120));
}"""


_SMALL = """() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const small = [], range = document.createRange();
  while (walk.nextNode()) {
    const it = walk.currentNode.parentElement, drawing = it.closest("svg");
    range.selectNodeContents(walk.currentNode);
    if (!walk.currentNode.data.trim() || it.closest(".vh, script, style")) continue;
    if (!range.getBoundingClientRect().width) continue;
    const { c, d } = drawing ? it.getScreenCTM() : { c: 0, d: 1 };
    if (parseFloat(getComputedStyle(it).fontSize) * Math.hypot(c, d) < 11.9) small.push(it.outerHTML.slice(0, 120));
  }
  return small;
}"""

_BROKEN = """() => [...document.querySelectorAll(".card > header > h2:not(.cut)")].filter((it) =>
  it.offsetHeight > 1.6 * parseFloat(getComputedStyle(it).lineHeight)).map((it) => it.textContent)"""


@cache
def axe():
    """Return the program of axe-core."""
    return (ROOT / "node_modules" / "axe-core" / "axe.min.js").read_text()


class Watched:
    """A window, with all that went wrong in it.

    Args:
        browser: The browser.
        site: The service's URL.
        size: One of `SIZES`.
        **options: Options of Playwright's context, such as `color_scheme`.

    Attributes:
        page: Playwright's page.
        faults: Errors of the console and of scripts, dialogs, and requests to other hosts.
        context: Playwright's context.
        refused: Paths at which the service may refuse what the page asks.
    """

    def __init__(self, browser, site, size="laptop", **options):
        self.site, self.faults, self._status, self._asked = site, [], 200, None
        self.refused = set()
        self.context = browser.new_context(base_url=site, viewport=SIZES[size], **options)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda fault: self.faults.append(f"error: {fault}"))
        self.page.on("dialog", self._on_dialog)
        self.page.on("request", self._on_request)

    def _on_console(self, message):
        url = message.location["url"]
        is_expected = (self._status >= 400 and url == self._asked) or url.removeprefix(self.site) in self.refused
        is_expected |= _PIXELS_READ in message.text
        if message.type in ("error", "warning") and not is_expected:
            self.faults.append(f"console: {message.text}")

    def _on_dialog(self, dialog):
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request):
        if request.is_navigation_request():
            self._asked = request.url  # the page has this address a moment after the console names it
        if not request.url.startswith((f"{self.site}/", "data:", "blob:")):
            self.faults.append(f"foreign: {request.url}")

    def open(self, path, status=200):
        """Open a page, and return it. The console names a problem; that is expected here."""
        self._status = status
        answer = self.page.goto(path)
        assert answer.status == status, path[:80]
        return self.page

    def violations(self, rules=None):
        """Return the rules of axe-core that the page breaks, with their elements; of all rules, or of some."""
        if not self.page.evaluate("'axe' in globalThis"):
            self.page.evaluate(f"() => {{ {axe()} }}")
        options = {} if rules is None else {"runOnly": rules}
        violations = self.page.evaluate("async (options) => (await axe.run(options)).violations", options)
        return [(entry["id"], [node["html"][:200] for node in entry["nodes"]]) for entry in violations]

    def overflow(self):
        """Return elements that stand out of the window's right side, but for those in boxes that scroll."""
        wide = self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        return self.page.evaluate(_OVERFLOW) + (["the page scrolls sideways"] if wide else [])

    def small_texts(self):
        """Return elements whose text is drawn with less than 12 pixels."""
        return self.page.evaluate(_SMALL)

    def broken_headings(self):
        """Return the headings of cards that take more than a line."""
        return self.page.evaluate(_BROKEN)

    def close(self):
        """Close the window.

        Raises:
            AssertionError: Something went wrong in it.
        """
        ran = self.page.evaluate(f"globalThis.{MARKER} ?? null")
        self.context.close()
        assert self.faults == [], self.faults
        assert ran is None

"""Every page in every look: accessible, within its window, and without an error."""

from __future__ import annotations

import httpx
import pytest

from tests.explorer.browser.watched import SIZES
from tests.explorer.stored import CLIENT, PROVEN
from tests.explorer.test_pages import PATHS, path_of

EVIDENCE = (
    *("/base/1", "/base/2", "/base/analysis", "/base/findings/lockstep-1", "/base/clusters/1", "/base/network"),
    *("/31337/8", "/base/1/ratings?payment=claimed", f"/base/1/ratings?reviewer={CLIENT}"),
    *(f"/accounts/{CLIENT}", "/search?q=agent&tag_2=starred&owner=0x", "/search?q=base/1", "/compare?first=base/1"),
    "/base/ratings/1-9",
)
"""Pages of payments, findings, flags, and names that look alike."""

PROBLEMS = (
    ("/base/999", 404),
    ("/nowhere/1", 404),
    ("/accounts/0x12", 400),
    (f"/base/validations/0x{PROVEN.hex()}", 404),
)


@pytest.fixture(scope="session")
def paths(site):
    """The paths of all pages, in the world of the API's tests."""
    with httpx.Client(base_url=site, timeout=120) as client:
        return [path_of(path, client) for path in PATHS]


LOOKS = {
    "light": ("light", "laptop", None),
    "phone": ("light", "phone", None),
    "dark": ("dark", "laptop", ["color-contrast"]),  # only colours differ
    "wide": ("light", "wide", []),
}
"""Of each look the colours, the size of the window, and the rules of accessibility; None for all."""

each_look = pytest.mark.parametrize(
    "looks", [("phone",), pytest.param(("light", "dark", "wide"), marks=pytest.mark.nightly)], ids=" and ".join
)


def looked_at(window, paths, looks):
    """Return what is wrong with pages in some looks. Each page is loaded once."""
    looked = {}
    for path, status in paths:
        window.open(path, status)
        for look in looks:
            scheme, size, rules = LOOKS[look]
            window.page.emulate_media(color_scheme=scheme)
            window.page.set_viewport_size(SIZES[size])
            problems = window.overflow() + window.small_texts() + ([] if rules == [] else window.violations(rules))
            if problems:
                looked[path, look] = problems
    return looked


@each_look
def test_every_page_is_accessible_and_within_its_window(watched, paths, looks):
    assert looked_at(watched(reduced_motion="reduce"), [(path, 200) for path in paths], looks) == {}


@each_look
def test_pages_of_evidence_and_of_problems_are_accessible_and_within_their_window(watched, evidence_site, looks):
    window = watched(at=evidence_site, reduced_motion="reduce")
    assert looked_at(window, [*((path, 200) for path in EVIDENCE), *PROBLEMS], looks) == {}


def test_headings_of_cards_stay_on_one_line(watched, evidence_site):
    window = watched(at=evidence_site, reduced_motion="reduce")
    window.page.set_viewport_size({"width": 1440, "height": 900})
    for path in ("/base/analysis", "/base/1", f"/accounts/{CLIENT}"):
        window.open(path)
        assert window.broken_headings() == [], path


def test_both_agents_of_a_comparison_are_within_a_phone(watched, site):
    page = watched("phone", at=site, reduced_motion="reduce").open("/compare?first=31337/1&second=31337/2")
    for table in page.locator("table.pair, .compared + section table").all():
        assert table.evaluate("(it) => it.scrollWidth <= it.parentElement.clientWidth + 1")

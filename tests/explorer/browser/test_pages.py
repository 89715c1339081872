"""Every page in every look: accessible, within its window, and without an error."""

from __future__ import annotations

import httpx
import pytest

from tests.explorer.test_pages import PATHS, path_of


@pytest.fixture(scope="session")
def paths(site):
    """The paths of all pages, in the world of the API's tests."""
    with httpx.Client(base_url=site, timeout=30) as client:
        return [path_of(path, client) for path in PATHS]


def test_pages_keep_the_rules_of_accessibility_in_light_and_dark(watched, paths):
    window, found = watched(reduced_motion="reduce"), {}
    for path in paths:
        window.open(path)
        for scheme, rules in (("light", None), ("dark", ["color-contrast"])):  # only colours differ
            window.page.emulate_media(color_scheme=scheme)
            if problems := window.violations(rules) + window.overflow():
                found[path, scheme] = problems
    assert found == {}


def test_pages_keep_the_rules_of_accessibility_on_a_phone(watched, paths):
    window, found = watched("phone", reduced_motion="reduce"), {}
    for path in paths:
        window.open(path)
        if problems := window.violations() + window.overflow():
            found[path] = problems
    assert found == {}


def test_pages_stay_within_a_wide_window(watched, paths):
    window, found = watched("wide"), {}
    for path in paths[::2]:
        window.open(path)
        if problems := window.overflow():
            found[path] = problems
    assert found == {}

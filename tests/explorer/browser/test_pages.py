"""Every page in every look: accessible, within its window, and without an error."""

from __future__ import annotations

import pytest

from tests.explorer.test_pages import PATHS, path_of

LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"size": "phone", "color_scheme": "light"},
}


@pytest.mark.parametrize("look", LOOKS)
def test_pages_keep_the_rules_of_accessibility_and_stay_within_the_window(watched, look):
    window = watched(**LOOKS[look])
    found = {}
    for path in PATHS:
        window.open(path_of(path))
        if problems := window.violations() + window.overflow():
            found[path] = problems
    assert found == {}


def test_pages_stay_within_a_wide_window(watched):
    window = watched("wide")
    found = {}
    for path in PATHS:
        window.open(path_of(path))
        if problems := window.overflow():
            found[path] = problems
    assert found == {}

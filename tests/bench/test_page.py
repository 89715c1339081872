"""The page about gas shows what was measured."""

from __future__ import annotations

from bench.page import PAGE, written_page


def test_page_about_gas_shows_the_recorded_figures():
    assert PAGE.read_text() == written_page()

"""The tables of a benchmark stand in their part of a page."""

from __future__ import annotations

import pytest

from bench.report import write_part
from scripts._build import ROOT

PAGE = ROOT / "docs" / "search.md"


@pytest.mark.parametrize("part", ["figures", "times of sqlite", "times of postgresql"])
def test_tables_replace_those_of_their_part_alone(tmp_path, part):
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text())
    write_part(page, f"<!-- make bench-semantic: {part} -->\n", "\n<!-- end -->", "\n| new |\n")
    written = page.read_text()
    before, _, rest = PAGE.read_text().partition(f"<!-- make bench-semantic: {part} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    assert written == f"{before}<!-- make bench-semantic: {part} -->\n\n| new |\n\n{end}{after}"


def test_part_that_a_page_has_not_is_an_error(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("")
    with pytest.raises(ValueError, match="has no part figures"):
        write_part(page, "figures", "<!-- end -->", "")

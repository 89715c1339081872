"""The data dictionary is that of the tables."""

from __future__ import annotations

from scripts.index_tables import PAGE, page


def test_the_dictionary_has_the_columns_of_all_tables():
    assert PAGE.read_text(encoding="utf-8") == page(), "run make index-tables"

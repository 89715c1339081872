"""The pages and examples import public modules alone, and each of these exists."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

from scripts._build import ROOT

SECTION = re.search(r"## Public modules\n(.*?)\n## ", (ROOT / "docs/sdk.md").read_text(encoding="utf-8"), re.S)[1]
PUBLIC = frozenset(re.findall(r"`(bilateral[\w.]*)`", SECTION))
IMPORT = re.compile(r"^ *(?:from|import) (bilateral[\w.]*)", re.M)
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.py"), *(ROOT / "npm").glob("*.md")]
)


@pytest.mark.parametrize("module", sorted(PUBLIC))
def test_public_module_exists(module):
    assert find_spec(module) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_imports_public_modules_alone(page):
    assert set(IMPORT.findall(page.read_text(encoding="utf-8"))) <= PUBLIC

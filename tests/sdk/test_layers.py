"""Rooms of the package import only rooms of lower levels, and no modules import each other in a circle."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict

import pytest

from scripts._build import ROOT
from scripts._imports import LEVELS, PACKAGE, Import, circle, imports, modules, room, violation
from scripts.packages import Size, Sizes, excesses


def broken_rule(importer, imported):
    return violation(Import(f"bilateral.{importer}", f"bilateral.{imported}", 1))


@pytest.fixture(scope="module")
def imports_of_package():
    """All imports of the package: to parse it takes seconds."""
    return list(imports(modules(PACKAGE)))


def test_every_import_of_the_package_keeps_the_rule_of_rooms(imports_of_package):
    assert [broken for import_ in imports_of_package if (broken := violation(import_))] == []


def test_modules_do_not_import_each_other_in_a_circle_not_even_for_types(imports_of_package):
    graph = defaultdict(set)
    for import_ in imports_of_package:
        graph[import_.importer].add(import_.imported)
    assert circle(graph) is None


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("core.values", "core.summaries"),
        ("core.errors.chain", "core.identifiers"),
        ("documents.models", "core.values"),
        ("core.events", "core.contracts"),
        ("trust.graph", "core.values"),
        ("client.operations.reading", "node.transport"),
        ("client.aio.client", "client.handle"),
        ("index.chain.follow", "core.events"),
        ("checks.policy", "index.profiles.queries"),
        ("buyers.score", "trust.graph"),
        ("solana.sati", "node.steps"),
        ("x402.server", "checks.policy"),
        ("x402.server.asgi", "x402.clients.preflight"),
        ("x402.proof.solana", "solana.sati"),
        ("migrations.env", "x402.aggregator.tables"),
        ("api.routes", "explorer.pages"),
        ("explorer.pages", "api.urls"),
        ("cli.agent", "api.app"),
    ],
)
def test_room_may_import_rooms_of_lower_levels_and_itself(importer, imported):
    assert broken_rule(importer, imported) is None


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("core.values", "documents.model"),
        ("core.errors.chain", "node.transport"),
        ("documents.model", "node.steps"),
        ("node.transport", "trust.graph"),
        ("core.events", "client.handle"),
        ("trust.graph", "node.transport"),
        ("client.operations.reading", "index.profiles.queries"),
        ("index.chain.follow", "client.handle"),
        ("solana.sati", "client.handle"),
        ("solana.payments", "x402.verdicts"),
        ("checks.policy", "buyers.score"),
        ("x402.server", "api.app"),
        ("index.log.migrate", "migrations.env"),
        ("api.routes", "cli.agent"),
    ],
)
def test_room_may_not_import_rooms_of_its_own_or_a_higher_level(importer, imported):
    rooms = [room(f"bilateral.{name}") for name in (importer, imported)]
    assert broken_rule(importer, imported) == (
        f"bilateral.{importer}:1 imports bilateral.{imported}: "
        f"the room {rooms[0]!r} must not import the room {rooms[1]!r}"
    )


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("index.log.store", "index.errors"),
        ("index.ratings.projection", "index.log.projection"),
        ("index.search.queries", "index.standing.queries"),
        ("index.projections", "index.search.reader"),
        ("index.operating.worker", "index.projections"),
        ("index.shards.process", "index.operating.process"),
    ],
)
def test_inner_room_of_the_index_may_import_those_before_it(importer, imported):
    assert broken_rule(importer, imported) is None


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("index.log.store", "index.agents.tables"),
        ("index.chain.follow", "index.operating.verification"),
        ("index.files.worker", "index.search.reader"),
        ("index.ratings.feedback", "index.payments.queries"),
        ("index.log.store", "index.projections"),
        ("index.operating.monitoring", "index.shards.process"),
    ],
)
def test_inner_room_of_the_index_may_not_import_those_after_it(importer, imported):
    rooms = [name.split(".")[1] for name in (importer, imported)]
    assert broken_rule(importer, imported) == (
        f"bilateral.{importer}:1 imports bilateral.{imported}: "
        f"index/{rooms[0]} must not import index/{rooms[1]}, which comes after it"
    )


@pytest.mark.parametrize("imported", ["index.standing.projection", "index.standing.worker"])
def test_queries_import_neither_projections_nor_workers(imported):
    assert broken_rule("index.search.queries", imported) == (
        f"bilateral.index.search.queries:1 imports bilateral.{imported}: "
        "queries import neither a projection nor a worker"
    )


def test_nothing_outside_the_index_imports_a_projection():
    assert broken_rule("api.routes", "index.files.projection") == (
        "bilateral.api.routes:1 imports bilateral.index.files.projection: "
        "a projection is reached by bilateral.index.projections alone"
    )


@pytest.mark.parametrize(
    ("importer", "imported"),
    [("x402.proof.verifier", "x402.clients.purchase"), ("x402.clients.httpx", "x402.server.exchange")],
)
def test_part_of_a_room_may_not_import_a_later_part(importer, imported):
    assert broken_rule(importer, imported).endswith("which comes after it")


def test_room_without_a_level_is_refused():
    assert broken_rule("ledger.book", "core.values") == (
        "bilateral.ledger.book:1 imports bilateral.core.values: "
        "the room 'ledger' has no level: add it to LEVELS in scripts/_imports.py"
    )


def test_no_room_imports_the_package_that_exports_names_of_other_rooms():
    assert violation(Import("bilateral.core.values", "bilateral", 1)) == (
        "bilateral.core.values:1 imports bilateral: "
        "import the module that defines the name, not the package that exports it"
    )


def test_the_rule_names_each_room_once():
    rooms = [name for level in LEVELS for name in level]
    assert len(rooms) == len(set(rooms))


SOURCE = """
from typing import TYPE_CHECKING
import bilateral.b
from bilateral import c
from bilateral.d import inner, name
if TYPE_CHECKING:
    from bilateral.e import Type
def later():
    from bilateral.b import function
"""


@pytest.fixture
def package(tmp_path):
    """A package whose module `a` imports in every way."""
    (tmp_path / "bilateral/d").mkdir(parents=True)
    for name in ("__init__", "b", "c", "d/__init__", "d/inner", "e"):
        (tmp_path / f"bilateral/{name}.py").touch()
    (tmp_path / "bilateral/a.py").write_text(SOURCE)
    return tmp_path / "bilateral"


def test_imports_of_every_form_are_found(package):
    arrows = {(import_.imported, import_.line) for import_ in imports(modules(package))}
    assert arrows == {
        ("bilateral.b", 3),
        ("bilateral.c", 4),
        ("bilateral.d", 5),
        ("bilateral.d.inner", 5),
        ("bilateral.e", 7),
        ("bilateral.b", 9),
    }


def test_relative_import_is_refused(package):
    (package / "c.py").write_text("from . import b\n")
    with pytest.raises(ValueError, match=r"^bilateral\.c:1 has a relative import: write the full name$"):
        list(imports(modules(package)))


def test_circle_is_found_with_its_modules():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}}
    assert circle(graph) in (["b", "c", "b"], ["c", "b", "c"])
    assert circle({"a": {"b", "c"}, "b": {"c"}}) is None


@pytest.fixture(scope="module")
def packages_run():
    """The project's own command: it prints the sizes, and names what exceeds the budget on its standard error."""
    return subprocess.run(
        [sys.executable, "-m", "scripts.packages"], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_every_package_keeps_within_its_budget(packages_run):
    assert (packages_run.returncode, packages_run.stderr) == (0, "")


def test_size_over_the_budget_is_named_with_its_limit():
    size = Size()
    function = 'def _home_told():\n    """Read\n\n    it."""\n    return os.environ  # a comment\n'
    size.add(f'"""A module."""\n\nimport os\n\n\n{function}')
    assert (size.physical, size.code, size.docstrings, size.private, size.imports) == (11, 3, 4, 3, 1)
    sizes = Sizes(size, {"bilateral/node": size, "bench": size})
    budget = {"whole": {"code": 3, "imports": 32, "names": 49_999}, "names": {"odd": ["told"]}, "rooms": {}}
    assert excesses(sizes, budget | {"outside": {"bench": 2}}) == [
        "bilateral/ has 33 for 'imports', and its limit is 32",
        "bilateral/ has 50,000 for 'names', and its limit is 49,999",
        "bilateral/node has no limit",
        "bench has 3 lines of code, and its limit is 2",
    ]


def test_command_prints_a_row_for_each_package(packages_run):
    head, *rows = packages_run.stdout.splitlines()
    assert head.split() == ["package", "files", "code", "limit", "docstrings", "imports"]
    node = next(row.split() for row in rows if row.startswith("bilateral/node "))
    assert node[1] == str(len(list((PACKAGE / "node").glob("*.py"))))
    assert node[5:] == ["core"]

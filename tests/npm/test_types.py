"""The types of the packed archive, in a project outside of the checkout: for old and new compilers, and on the page.

`RUNTIMES` names the folder with the packages of interop/runtimes: compilers, and frameworks of agents.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from scripts._build import ROOT
from tests.packaging.fixtures import TOOLS, archive, run, unpack_with_tools  # noqa: F401  # a fixture

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif("RUNTIMES" not in os.environ, reason="RUNTIMES names no folder with compilers and frameworks"),
]

OPTIONS = [
    *("--noEmit", "--strict", "--exactOptionalPropertyTypes", "--verbatimModuleSyntax", "--skipLibCheck"),
    *("--module", "NodeNext", "--target", "ES2022"),
    *("--lib", "ES2022,DOM,DOM.Iterable,DOM.AsyncIterable,ESNext.Disposable"),
]
BLOCK = re.compile(r"^```ts\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(archive, tmp_path):  # noqa: F811  # a fixture
    """A folder with the package, its dependencies, and the frameworks of agents in node_modules."""
    modules = tmp_path / "node_modules"
    unpack_with_tools(archive, modules)
    for package in Path(os.environ["RUNTIMES"], "node_modules").iterdir():
        if not (modules / package.name).exists():
            (modules / package.name).symlink_to(package)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    return tmp_path


@pytest.mark.parametrize("compiler", ["typescript-5.4", "typescript", "typescript-7.0"])
def test_types_of_calls_hold_for_old_and_new_compilers(project, compiler):
    shutil.copy(ROOT / "tests/packaging/projects/node/types.ts", project)
    run("node", project / "node_modules" / compiler / "bin/tsc", *OPTIONS, "types.ts", cwd=project)


def test_programs_of_the_page_compile_with_each_framework(project):
    programs = BLOCK.findall((ROOT / "docs/typescript.md").read_text(encoding="utf-8"))
    assert len(programs) > 3
    names = [f"program{number}.ts" for number in range(len(programs))]
    for name, program in zip(names, programs, strict=True):
        (project / name).write_text(program, encoding="utf-8")
    run(TOOLS / ".bin" / "tsc", *OPTIONS, *names, cwd=project)

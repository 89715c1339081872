"""`make install-lines`: writes the commands that install the packages into all pages, in the form that works today.

Before the first release there is nothing to install from an index, so the commands install from a checkout. The
changelog says whether a version is released, so the first release switches all pages.
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from typing import TYPE_CHECKING

import click

from scripts._build import ROOT
from scripts._files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANVIL = "@foundry-rs/anvil@1.7.1"
SOLC = "solc@0.8.24"
LIBRARIES = ("@openzeppelin/contracts", "solady")
"""The libraries of the gates, which are optional peers of the npm package."""

FOLDER = "bilateral-market"
"""The folder beside the checkout in which a reader tries the pages. In the checkout, npm would change its own files."""

_BLOCK = re.compile(
    r"(<!-- install: (\w+), written by `make install-lines` -->\n).*?(<!-- end of install -->)", re.DOTALL
)
_PIP = re.compile(r"(pip install\s+['\"]?)(?:bilateral|\.)(?=\[[a-z0-9,]+\]|[`\s])")


def is_released() -> bool:
    """Return True if the changelog has a version."""
    return bool(re.search(r"^## \[\d", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE))


def with_install_lines(page: str, *, released: bool) -> str:
    """Renew the commands in a page.

    Args:
        page: The page.
        released: True if the package index and npm have the packages.

    Returns:
        The page with commands that work.
    """
    page = _PIP.sub(rf"\g<1>{'bilateral' if released else '.'}", page)
    return _BLOCK.sub(lambda block: block[1] + _TEXTS[block[2]](released) + block[3], page)


def _note(released: bool) -> str:
    if released:
        return ""
    return "No version is released yet: `pip install '.[…]'`, as shown on these pages, installs from a checkout.\n"


def _commands(modules: str, archive: str, released: bool) -> str:
    if released:
        lines = ["pip install 'bilateral[all]'", f"npm install {modules}", "bilateral dev"]
    else:
        lines = [
            "checkout=$PWD                # a checkout of this repository: no version is released yet",
            "pip install '.[all]'",
            *(["make setup && .venv/bin/python -m scripts.npm_package dist"] if archive else []),
            f"mkdir -p ../{FOLDER} && cd ../{FOLDER}",
            f"npm install {modules}" + archive,
            "bilateral dev",
        ]
    return "\n".join(["", "```", *lines, "```", "", ""])


def _market(released: bool) -> str:
    return _commands(ANVIL, "", released)


def _contracts(released: bool) -> str:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    libraries = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["dependencies"]
    modules = " ".join([ANVIL, SOLC, *(f"{name}@{libraries[name]}" for name in LIBRARIES)])
    if released:
        return _commands(f"{modules} bilateral@{version}", "", released)
    return _commands(modules, f' "$checkout/dist/bilateral-{version}.tgz"', released)


def _typescript(released: bool) -> str:
    modules = "viem @x402/core @x402/evm express"
    if released:
        lines = [f"npm install bilateral {modules}"]
    else:
        lines = [
            "checkout=…                   # the folder of the checkout, as in the first terminal",
            "(cd $checkout && make setup && .venv/bin/python -m scripts.npm_package dist)",
            f"npm install {modules} $checkout/dist/bilateral-*.tgz",
        ]
    return "\n".join(["", "```", *lines, "```", "", ""])


_TEXTS = {"note": _note, "market": _market, "contracts": _contracts, "typescript": _typescript}
"""The texts between the marks of a page, by name."""


def _pages() -> Iterator[Path]:
    """Find the pages and the programs that name a command."""
    listed = subprocess.run(
        ["git", "ls-files", "README.md", "docs/*.md", "npm/*.md", "examples/*.py"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return (ROOT / name for name in listed.stdout.split())


@click.command()
@click.option("--check", is_flag=True, help="Write nothing, but fail if a page is stale.")
def cli(check: bool) -> None:
    """Renew the commands of all pages."""
    for path in _pages():
        page = path.read_text(encoding="utf-8")
        renewed = with_install_lines(page, released=is_released())
        if renewed == page:
            continue
        if check:
            raise click.ClickException(
                f"{path.relative_to(ROOT)} has other commands of installation: make install-lines"
            )
        write_atomically(path, renewed)


if __name__ == "__main__":
    cli()

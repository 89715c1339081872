"""Stages the documentation for the site: the pages of docs/, of the repository's root, and all files that they link to.

python -m scripts.site_pages FOLDER

On the site the map of the documentation is the first page, so docs/README.md becomes index.md, and docs/index.md, which
is about the index of chains, index-of-chains.md.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Final

import bilateral
from scripts._build import ROOT

GENERATED: Final = {
    "docs/census.md": "`make census` writes this page.",
    "docs/conformance.md": "`make test` compares this page with the specifications and the tests.",
    "docs/decisions.md": "`make market` writes this page.",
    "docs/errors.md": "`make error-page` writes this page.",
    "docs/gas-tables.md": "`make bench` writes this page.",
    "docs/index-tables.md": "`make index-tables` writes this page.",
    "docs/licences.md": "`make licences` compares this page with the packages of all locks.",
    "docs/trust-figures.md": "`make evaluate` writes this page.",
}
"""The pages that a command writes or checks row by row. The site says so below their titles."""

_RENAMED: Final = {"docs/README.md": "index.md", "docs/index.md": "index-of-chains.md"}
_LINK: Final = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FENCE: Final = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
_METHODS: Final = ("get", "post", "put", "delete")


def place(path: str) -> str:
    """Return the place on the site of a file, by its path in the repository.

    Args:
        path: The path, as `docs/sdk.md` or `contracts/interfaces/IIdentityRegistry.sol`.
    """
    if path in _RENAMED:
        return _RENAMED[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"project/{path}" if path.endswith(".md") and "/" not in path else f"sources/{path}"


def rewritten(text: str, path: str) -> tuple[str, set[str]]:
    """Rewrite the links of a page for the site.

    Args:
        text: The page.
        path: Its path in the repository.

    Returns:
        The page for the site, and the paths in the repository of the files that it links to.
    """
    targets: set[str] = set()
    depth = place(path).count("/")

    def replace(match: re.Match[str]) -> str:
        label, target, anchor = match.groups()
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        file = ((ROOT / path).parent / target).resolve()
        if file.is_dir():  # a site has no page for a folder
            return label
        target_path = file.relative_to(ROOT).as_posix()
        targets.add(target_path)
        return f"[{label}]({'../' * depth}{place(target_path)}{anchor or ''})"

    parts = [part if part.startswith("```") else _LINK.sub(replace, part) for part in _FENCE.split(text)]
    return "".join(parts), targets


def http_reference(document: dict[str, object]) -> str:
    """Return a page for people about the paths of the service, from its OpenAPI document."""
    paths = document["paths"]
    assert isinstance(paths, dict)
    lines = ["# HTTP API", "", "The service shows the same at `/openapi`, with a form for each path.", ""]
    for path, item in paths.items():
        for method in (name for name in _METHODS if name in item):
            operation = item[method]
            lines += [
                f"## `{method.upper()} {path}`",
                "",
                operation.get("description") or operation.get("summary", ""),
                "",
            ]
            parameters = operation.get("parameters", [])
            if parameters:
                lines += ["| parameter | in | meaning |", "| --- | --- | --- |"]
                for parameter in parameters:
                    meaning = " ".join(parameter.get("description", "").replace("|", "\\|").split())
                    name = f"`{parameter['name']}`" + (" (required)" if parameter.get("required") else "")
                    lines.append(f"| {name} | {parameter['in']} | {meaning} |")
                lines.append("")
    return "\n".join(lines) + "\n"


def python_reference() -> str:
    """Return a page that lists the public names of the package, for the generator to fill from their docstrings."""
    names = sorted(name for name in bilateral.__all__ if not name.startswith("_"))
    return "# Python API\n\n" + "\n".join(f"::: bilateral.{name}\n" for name in names)


def _marked(text: str, origin: str | None) -> str:
    """Put a note below the title of a page that a command writes."""
    if origin is None:
        return text
    title, _, rest = text.partition("\n")
    return f'{title}\n\n!!! info "Generated"\n    {origin}\n{rest}'


def stage(folder: Path) -> int:
    """Write all pages.

    Args:
        folder: An empty folder, which is made.

    Returns:
        The number of pages.
    """
    shutil.rmtree(folder, ignore_errors=True)
    pending = {f"docs/{file.relative_to(ROOT / 'docs').as_posix()}" for file in (ROOT / "docs").rglob("*.md")}
    pending |= {file.name for file in ROOT.glob("*.md")}
    staged: set[str] = set()
    while pending:
        path = pending.pop()
        staged.add(path)
        target = folder / place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            text, links = rewritten((ROOT / path).read_text(encoding="utf-8"), path)
            target.write_text(_marked(text, GENERATED.get(path)), encoding="utf-8")
            pending |= links - staged
        else:
            shutil.copyfile(ROOT / path, target)
    reference = _marked(python_reference(), "`make docs` writes this page from the docstrings of the package.")
    (folder / "reference.md").write_text(reference, encoding="utf-8")
    openapi = json.loads((ROOT / "docs/openapi.json").read_bytes())
    paths = _marked(http_reference(openapi), "`make docs` writes this page from the OpenAPI document.")
    (folder / "http-reference.md").write_text(paths, encoding="utf-8")
    return len(list(folder.rglob("*.md")))


if __name__ == "__main__":
    print(f"docs: {stage(Path(sys.argv[1]))} pages")

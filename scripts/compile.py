"""`python -m scripts.compile`: compiles the contracts as `ape compile` does, and keeps them as builds, too.

So Ape's contracts have no metadata, either, and `scripts._build` need not compile the same sources again.

The optimizer orders functions by ids that number all compiled sources, so a new mock can change the code of another
contract. A contract whose code is not the locked one is compiled again from its own imports alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_utils.crypto import keccak

from scripts._build import NO_METADATA, ROOT, keep_whole

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Compile."""
    # Ape imports every script for each of its commands.
    from ape._cli import cli  # noqa: PLC0415
    from ape_solidity import compiler  # noqa: PLC0415

    usual: Callable[..., dict[str, Any]] = vars(compiler)["compile_standard"]

    def compile_standard(standard_json: dict[str, Any], **options: Any) -> dict[str, Any]:
        settings = standard_json["settings"]
        settings["metadata"] = NO_METADATA
        for selection in settings["outputSelection"].values():
            selection["*"] = [*selection["*"], "evm.deployedBytecode.immutableReferences"]
        output = usual(standard_json, **options)
        for source_id, name in differing(output):
            alone = {**standard_json, "sources": imports(source_id, standard_json["sources"], output)}
            alone["settings"] = settings | {"outputSelection": {source_id: settings["outputSelection"][source_id]}}
            output["contracts"][source_id][name] = usual(alone, **options)["contracts"][source_id][name]
        keep_whole(str(options["solc_version"]), standard_json, output)
        return output

    vars(compiler)["compile_standard"] = compile_standard
    cli(["compile"])


def differing(output: dict[str, Any]) -> list[tuple[str, str]]:
    """Return source and name of each contract whose code is not that of `contracts/bytecode.lock`."""
    locked = dict(line.split() for line in (ROOT / "contracts" / "bytecode.lock").read_text().splitlines())
    codes = {
        (source_id, name): contract["evm"]["bytecode"]["object"]
        for source_id, contracts in output["contracts"].items()
        for name, contract in contracts.items()
        if name in locked
    }
    return [key for key, code in codes.items() if "0x" + keccak(bytes.fromhex(code)).hex() != locked[key[1]]]


def imports(source_id: str, sources: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    """Return the sources that a file needs, itself included."""
    needed, pending = set[str](), [source_id]
    while pending:
        if (path := pending.pop()) not in needed:
            needed.add(path)
            nodes = output["sources"][path]["ast"]["nodes"]
            pending += [node["absolutePath"] for node in nodes if node["nodeType"] == "ImportDirective"]
    return {path: sources[path] for path in sorted(needed)}


if __name__ == "__main__":
    main()

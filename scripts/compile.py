"""`python -m scripts.compile`: compiles the contracts as `ape compile` does, and keeps them as builds, too.

So Ape's contracts have no metadata, either, and `scripts._build` need not compile the same sources again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scripts._build import NO_METADATA, keep_whole

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
        keep_whole(str(options["solc_version"]), standard_json, output)
        return output

    vars(compiler)["compile_standard"] = compile_standard
    cli(["compile"])


if __name__ == "__main__":
    main()

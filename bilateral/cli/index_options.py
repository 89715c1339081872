"""Options that several commands of `bilateral index` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar="BILATERAL_DATABASE",
        metavar="URL",
        help="sqlite:///FILE or postgresql://…; an SQLite file in the user's data folder if left out.",
    ),
]
RpcUrls = Annotated[
    list[str] | None,
    typer.Option(
        "--rpc-url",
        envvar="BILATERAL_RPC_URL",
        metavar="URL",
        help="The URL of a node's JSON-RPC; may be repeated: a run fails over, and a verification asks each.",
    ),
]
Deployments = Annotated[
    list[Path] | None,
    typer.Option(
        "--deployment",
        metavar="FILE",
        help="A deployment record or address book; may be repeated. The packaged registries of the chain if left out.",
    ),
]
SettingsFile = Annotated[
    Path | None, typer.Option("--settings", metavar="FILE", help="A TOML file that says the same for many chains.")
]

"""`bilateral serve` and `bilateral mcp`: serve the index to other programs."""

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import typer

from bilateral.cli.index_options import ChainOptions, Database, SettingsFile, log_steps
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command, flag, optional
from bilateral.core.errors import require_modules
from bilateral.core.text.log_lines import log_safely

app = typer.Typer()

_PACKAGES: Final = (
    *("alembic", "fastapi", "graphql", "http_message_signatures", "httptools", "joserfc", "limits", "mcp"),
    "prometheus_client",
)
_PACKAGES_OF_INDEX: Final = ("libipld", "msgspec", "platformdirs", "psycopg", "sqlalchemy", "uvicorn")
_PACKAGES_OF_X402: Final = ("brotli", "nacl", "rfc8785", "x402")


def require_api() -> None:
    """Check that the `api` extra's packages are installed."""
    require_modules("api", *_PACKAGES, *_PACKAGES_OF_INDEX)


@dataclass(frozen=True)
class ServeOptions:
    """The options that override a service's settings."""

    host: str | None = optional(None, "The address to listen on; 127.0.0.1 by default.", envvar="BILATERAL_HOST")
    port: int | None = optional(
        None, "The port to listen on; 8004 by default, 0 for any free port.", envvar="BILATERAL_PORT", min=0, max=65535
    )
    workers: int | None = optional(
        None, "The number of processes that handle requests; 1 by default.", envvar="BILATERAL_WORKERS", min=1, max=256
    )
    rate: str | None = optional("LIMIT", "The rate limit per address, such as 1200/minute.", envvar="BILATERAL_RATE")
    trusted_proxies: list[str] | None = optional(
        "NETWORK", "A proxy whose X-Forwarded-… headers are trusted; may be repeated.", "--proxy"
    )
    public_url: str | None = optional(
        "URL",
        "The address at which visitors reach the service, such as https://explorer.example.",
        envvar="BILATERAL_PUBLIC_URL",
    )
    aggregator: str | None = optional(
        "FILE", "Pay for feedback signed by clients, as configured in this TOML file.", envvar="BILATERAL_AGGREGATOR"
    )


@command(app, is_local=True, needs=require_api)
def serve(  # noqa: PLR0913, PLR0917  # models, and what the service does beside answering
    invocation: Invocation,
    chains: ChainOptions,
    options: ServeOptions,
    database: Database = None,
    no_index: bool = flag("--no-index", "Do not follow any chains; use this if another process already indexes them."),
    no_analyse: bool = flag(
        "--no-analyse",
        "Do not run the trust analysis. Without this analysis, no agent is ranked, rated or accepted.",
        envvar="BILATERAL_NO_ANALYSE",
    ),
) -> None:
    """Serve agents, ratings and searches over HTTP while following the chains."""
    from bilateral.api.serve import serve as serve_api  # noqa: PLC0415  # slow to import
    from bilateral.api.settings import read_api_settings  # noqa: PLC0415
    from bilateral.index.log.database import named_database_errors  # noqa: PLC0415

    index = None if no_index else replace(chains.settings(), analyses=not no_analyse)
    values = {**vars(options), "trusted_proxies": options.trusted_proxies or None}
    values["needs_analysis"] = False if no_analyse else None
    settings = read_api_settings(chains.settings_file, database=database, **values)
    if settings.aggregator is not None:
        _check_aggregator(str(settings.aggregator))
    log_steps()
    log_safely()
    with named_database_errors():
        serve_api(settings, index, report=lambda url: invocation.output.note(f"listening on {url}"))


@command(app, is_local=True, needs=require_api)
def mcp(
    invocation: Invocation,  # noqa: ARG001  # every command has it
    settings_file: SettingsFile = None,
    database: Database = None,
) -> None:
    """Serve tools to AI models over standard input and output (Model Context Protocol)."""
    import anyio  # noqa: PLC0415  # slow to import

    from bilateral.api.mcp.server import make_server  # noqa: PLC0415
    from bilateral.api.settings import read_api_settings  # noqa: PLC0415
    from bilateral.documents import Network  # noqa: PLC0415
    from bilateral.index.reading.copies import ReplicatedReader  # noqa: PLC0415
    from bilateral.index.reading.readers import Reader  # noqa: PLC0415

    settings = read_api_settings(settings_file, database=database)
    reader = ReplicatedReader(settings.database, settings.readers) if settings.readers else Reader(settings.database)
    log_safely()
    with closing(reader):
        network = Network(allow_private=settings.allow_private)
        server = make_server(reader, buyer_policy=settings.buyers.policy, nodes=settings.nodes, network=network)
        anyio.run(server.run_stdio_async)


def _check_aggregator(path: str) -> None:
    """Read the aggregator's settings, so that an error stops the command before anything is served."""
    require_modules("x402", *_PACKAGES_OF_X402)
    from bilateral.x402.aggregator.settings import read_aggregator_settings  # noqa: PLC0415  # slow to import

    read_aggregator_settings(Path(path))

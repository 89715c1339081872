"""Options that several commands of `bilateral index` share."""

from __future__ import annotations

import logging
import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from bilateral.cli.columns import columns
from bilateral.cli.errors import UsageProblemError, option_with_variable
from bilateral.cli.options import flag, option, optional
from bilateral.core.errors import require_modules
from bilateral.core.text.log_lines import safe_handler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Engine

    from bilateral.cli.invocation import Invocation
    from bilateral.index.operating.settings import IndexSettings
    from bilateral.index.operating.status import ChainStatus, IndexStatus

Database = Annotated[
    str | None,
    option(
        "URL",
        "sqlite:///FILE or postgresql://…; by default, an SQLite file in the user's data folder.",
        "--database",
        envvar="BILATERAL_DATABASE",
    ),
]
RpcUrls = Annotated[
    list[str] | None,
    option(
        "URL",
        "A node's JSON-RPC URL; may be repeated: `run` fails over to the next node, and `verify` queries all nodes.",
        "--rpc-url",
        envvar="BILATERAL_RPC_URL",
    ),
]
Deployments = Annotated[
    list[Path] | None,
    option(
        "FILE",
        "A deployment record or address book; may be repeated. Defaults to the chain's packaged registries.",
        "--deployment",
    ),
]
SettingsFile = Annotated[
    Path | None, option("FILE", "A TOML file that sets these options for one or more chains.", "--settings")
]


@dataclass(frozen=True)
class MonitorOptions:
    """The address at which a process serves its metrics."""

    metrics_port: int | None = optional(
        None, "Serve /healthz, /readyz and /metrics for monitoring on this port.", min=0, max=65535
    )
    metrics_host: str = option("ADDRESS", "The address to listen on for monitoring.", default="127.0.0.1")

    @contextmanager
    def answering(
        self, engine: Engine, look: Callable[[], IndexStatus] | None = None, *, needs_analysis: bool = True
    ) -> Iterator[None]:
        """Serve metrics while the context is open, if a port is set."""
        if self.metrics_port is None:
            yield
            return
        from bilateral.index.operating.monitoring import monitored  # noqa: PLC0415  # slow to import

        host = self.metrics_host
        with monitored(engine, host, self.metrics_port, look, needs_analysis=needs_analysis) as actual:
            logging.getLogger("bilateral.index").info("metrics=http://%s:%d/metrics", host, actual)
            yield


@dataclass(frozen=True)
class ChainOptions:
    """The chains that a process follows."""

    rpc_urls: RpcUrls = None
    deployments: Deployments = None
    settings_file: SettingsFile = None

    def settings(self, from_block: int | None = None) -> IndexSettings:
        """Return the settings from the settings file or from the options."""
        from bilateral.index.operating.settings import ChainSettings, IndexSettings, read_deployments, read_settings  # noqa: PLC0415  # slow to import

        if self.settings_file is not None:
            options = {
                option_with_variable("--rpc-url", "BILATERAL_RPC_URL"): self.rpc_urls,
                "--deployment": self.deployments,
                "--from-block": from_block,
            }
            if conflicting := [option for option, value in options.items() if value not in (None, [])]:
                names = " and ".join(conflicting)
                raise UsageProblemError(f"--settings defines the nodes and registries of all chains: remove {names}")
            return read_settings(self.settings_file)
        if not self.rpc_urls:
            raise UsageProblemError("no node is configured: pass --rpc-url or --settings, or set BILATERAL_RPC_URL")
        urls = tuple(url for text in self.rpc_urls for url in text.split(","))
        records, books = read_deployments(self.deployments or [])
        return IndexSettings((ChainSettings(urls, records, from_block, books=books),))


def settings_of(settings_file: Path | None) -> IndexSettings:
    """Return the settings from a file, or settings without chains if there is no file."""
    from bilateral.index.operating.settings import IndexSettings, read_settings  # noqa: PLC0415  # slow to import

    return IndexSettings(()) if settings_file is None else read_settings(settings_file)


@dataclass(frozen=True)
class RunOptions:
    """The options for where a worker starts and stops, for its files, and for its time limits."""

    from_block: int | None = optional(
        None, "The first block to index; by default, the one in which the registries were deployed.", min=0
    )
    until_head: bool = flag("--until-head", "Stop at the head of the chain, after trying to fetch every file.")
    no_files: bool = flag("--no-files", "Do not fetch registration and feedback files.")
    file_workers: int | None = optional(None, "The number of files to fetch at once; 4 by default.", min=1, max=64)
    max_wait: float | None = optional(
        "SECONDS", "With --until-head: the maximum time to wait for a failing node or database; 120 by default.", min=0
    )
    trust_reorganisation: bool = flag(
        "--trust-reorganisation", "Remove finalized blocks even if only one node lacks them. Inspect the chain first."
    )
    add_registries: bool = flag(
        "--add-registries", "Add registries that the database does not have yet, by reading past blocks again."
    )
    no_analyse: bool = flag(
        "--no-analyse",
        "Do not run the trust analysis. Without this analysis, no agent is ranked, rated or accepted.",
        envvar="BILATERAL_NO_ANALYSE",
    )

    def settings(self, of_chains: ChainOptions) -> IndexSettings:
        """Return the worker's settings."""
        settings = of_chains.settings(self.from_block)
        count = 0 if self.no_files else self.file_workers or settings.files.workers
        return replace(
            settings,
            chains=tuple(
                replace(chain, trusts_reorganisation=self.trust_reorganisation, adds_registries=self.add_registries)
                for chain in settings.chains
            ),
            files=replace(settings.files, workers=count),
            analyses=not self.no_analyse,
            max_wait=settings.max_wait if self.max_wait is None else self.max_wait,
        )


_PACKAGES: Final = ("alembic", "libipld", "msgspec", "platformdirs", "prometheus_client", "psycopg", "sqlalchemy")
"""The packages of the `index` extra, by import name."""

SIGNAL_EXIT: Final = 128
"""The value to which a signal's number is added to obtain the exit code of a command terminated by that signal."""


@contextmanager
def open_index(url: str | None, *, creates: bool = False) -> Iterator[Engine]:
    """Open an index database, and explain its errors."""
    from bilateral.index.log.database import named_database_errors, open_database  # noqa: PLC0415  # slow to import

    with named_database_errors():
        engine = open_database(url, creates=creates)
        try:
            yield engine
        finally:
            engine.dispose()


def show_status(invocation: Invocation, engine: Engine) -> None:
    """Show the status of every chain."""
    from bilateral.index.operating.status import chain_statuses  # noqa: PLC0415  # slow to import

    show_statuses(invocation, chain_statuses(engine))


def show_statuses(invocation: Invocation, statuses: Sequence[ChainStatus]) -> None:
    """Show the status of chains."""
    names = (
        *("chain_id", "block", "head", "lag", "finalized", "event_rows"),
        *("reorganizations", "last_reorganization_at", "last_reorganization_depth", "endpoint", "problem"),
    )
    files = ("files_waiting", "files_loaded", "files_malformed", "files_failed")
    rate = ("files_per_second", "files_seconds_left") if any(status.files_waiting for status in statuses) else ()
    invocation.output.results(statuses, columns(*names, *files, *rate, standings=_standings))


def _standings(status: ChainStatus) -> str:
    return status.standings.lack or f"of block {status.standings.block}"


def ended_by_signals() -> tuple[threading.Event, list[int]]:
    """Return an event that SIGINT or SIGTERM sets, and the list of signals that were received."""
    stop, signals = threading.Event(), list[int]()

    def end(number: int, _: object) -> None:
        signals.append(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):  # before the imports, which an exception would interrupt
        signal.signal(number, end)
    return stop, signals


def log_steps() -> None:
    """Write one line to standard error for each step."""
    logger = logging.getLogger("bilateral.index")
    logger.addHandler(safe_handler())
    logger.setLevel(logging.INFO)
    logger.propagate = False


def require_extra() -> None:
    """Check that the `index` extra's packages are installed."""
    require_modules("index", *_PACKAGES)

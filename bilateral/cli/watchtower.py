"""`bilateral watchtower …`: measure which agents are alive, without acting or paying."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bilateral.cli.columns import columns
from bilateral.cli.errors import UsageProblemError
from bilateral.cli.index_options import (
    SIGNAL_EXIT,
    Database,
    MonitorOptions,
    SettingsFile,
    ended_by_signals,
    open_index,
    require_extra,
    settings_of,
)
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import argument, command, flag, make_group, option, optional
from bilateral.cli.secrets import KEY_VARIABLE, PASSPHRASE_FILE_VARIABLE, PASSPHRASE_VARIABLE
from bilateral.cli.watchtower_publishing import StoreUrl, add_commands, opened
from bilateral.core.identifiers import AgentId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.index.measurements.values import Target
    from bilateral.index.operating.settings import IndexSettings
    from bilateral.watchtower.probes import ProbeSettings
    from bilateral.watchtower.run import WatchSettings, Watchtower
    from bilateral.watchtower.store import Store
    from bilateral.watchtower.watching import Shared

app = make_group("watchtower")

_KEYS: Final = (KEY_VARIABLE, PASSPHRASE_VARIABLE, PASSPHRASE_FILE_VARIABLE)
_MINUTE: Final = 60
_REPORT_SECONDS: Final = 10


@dataclass(frozen=True, kw_only=True)
class ProbeOptions:
    """The options that identify the prober and select the agents."""

    contact: str = option(
        "URL", "Your web page or email address, shown to the servers that are probed.", envvar="BILATERAL_CONTACT"
    )
    allow_private: bool = flag("--allow-private", "Permit private addresses. Use this only within your own network.")

    def settings(self) -> ProbeSettings:
        """Return the settings for probes."""
        from bilateral.documents import Network  # noqa: PLC0415  # slow to import
        from bilateral.watchtower.probes import ProbeSettings  # noqa: PLC0415

        return ProbeSettings(self.contact, Network(allow_private=self.allow_private))


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The options for running a watchtower."""

    chains: list[int] | None = optional(
        None, "Measure agents on this chain; may be repeated. All chains by default.", "--chain-id"
    )
    interval: int = option("MINUTES", "The time between two probes of an endpoint.", default=15, min=1, max=60)
    vantage: str = option("NAME", "A name for the location that you probe from.", default="main")
    references: list[str] | None = optional(
        "URL",
        "A reference host with high uptime; specify five hosts on three networks. Defaults to the nodes in --settings.",
        "--reference",
        envvar="BILATERAL_REFERENCES",
    )
    opt_out: Path | None = optional(
        "FILE",
        "A file of URLs, hosts and domains that must not be measured, one per line.",
        exists=True,
        dir_okay=False,
    )
    once: bool = flag("--once", "Stop once each endpoint has been probed, and show the results.")

    def watch_settings(self, settings: IndexSettings) -> WatchSettings:
        """Return the settings of a run. By default, the chains' nodes also serve as reference hosts."""
        from bilateral.watchtower import politeness, run  # noqa: PLC0415  # slow to import

        references = self.references or [url for chain in settings.chains for url in chain.rpc_urls]
        opted_out = politeness.OptOuts(self.opt_out)
        return run.WatchSettings(self.vantage, self.interval * _MINUTE, tuple(references), opted_out)


@command(app, is_local=True, needs=require_extra)
def run(  # noqa: PLR0913, PLR0917  # one a setting
    invocation: Invocation,
    probing: ProbeOptions,
    options: WatchOptions,
    monitor: MonitorOptions,
    store_url: StoreUrl = None,
    database: Database = None,
    settings_file: SettingsFile = None,
) -> None:
    """Probe the endpoints of all agents in the index until interrupted. Fails if a signing key is set."""
    if keys := [name for name in _KEYS if os.environ.get(name)]:
        raise UsageProblemError(f"a watchtower that probes needs no key: unset {' and '.join(keys)}")
    stop, signals = ended_by_signals()
    from bilateral.watchtower import watching  # noqa: PLC0415  # slow to import

    settings = settings_of(settings_file)
    with ExitStack() as stack:
        index = stack.enter_context(open_index(database or settings.database))
        store = opened(store_url, creates=True)
        shared = watching.Shared(store, index, options.chains, options.vantage)
        tower = _built(stack, shared, store, probing, options.watch_settings(settings))
        if monitor.metrics_port is not None:
            _answer_monitors(invocation, tower, monitor.metrics_host, monitor.metrics_port)
        invocation.output.note(f"{len(tower.endpoints)} endpoints on {len(tower.hosts)} hosts")
        if not tower.vantage.references:
            invocation.output.note("no --reference: if your own connection fails, hosts will appear to be down")

        seconds = count(1)

        def report() -> None:
            is_over = options.once and tower.is_complete
            if is_over or next(seconds) % _REPORT_SECONDS == 0:
                invocation.output.note(_progress(tower))
            if is_over:
                stop.set()

        watching.watch(tower, shared, stop, report)
    if signals:
        raise typer.Exit(SIGNAL_EXIT + signals[0])
    _show(invocation, store)


@command(app, is_local=True, needs=require_extra)
def status(invocation: Invocation, store_url: StoreUrl = None) -> None:
    """Show which agents were alive when last measured, and on how many hosts."""
    _show(invocation, opened(store_url))


@command(app, is_local=True, needs=require_extra)
def probe(  # noqa: PLR0913, PLR0917  # one a setting
    invocation: Invocation,
    place: Annotated[str, argument("URL|AGENT", "An endpoint, or an agent in the index: 84532:42.")],
    probing: ProbeOptions,
    protocol: str = option("PROTOCOL", "The protocol expected at the URL: web, mcp, a2a, oasf or x402.", default="web"),
    is_paid: bool = flag(
        "--sells", "Treat the endpoint as paid through x402: the probe may send POST {} to request its price."
    ),
    database: Database = None,
) -> None:
    """Probe an endpoint or an agent's endpoints once, and explain what was measured. Nothing is stored."""
    from bilateral.watchtower import probes  # noqa: PLC0415  # slow to import

    settings = probing.settings()
    chosen = _targets(place, protocol, database, is_paid=is_paid)
    results = [(target, probes.probe(probes.Asker(target, settings, is_deep=True))) for target in chosen]
    rows = [
        {"protocol": target.protocol, "url": target.url, **vars(result), "explanation": result.explanation}
        for target, result in results
    ]
    names = ("protocol", "url", "outcome", "code", "status", "milliseconds", "explanation")
    invocation.output.results(rows, columns(*names), none="the agent lists no endpoint that a watchtower can probe")


def _targets(place: str, protocol: str, database: str | None, *, is_paid: bool) -> Sequence[Target]:
    from bilateral.index.log.database import snapshot  # noqa: PLC0415  # slow to import
    from bilateral.index.measurements.targets import normalized, read_targets  # noqa: PLC0415
    from bilateral.index.measurements.values import Protocol, Target  # noqa: PLC0415

    if "://" in place:
        names = [entry.value for entry in Protocol]
        if protocol not in names:
            raise UsageProblemError(f"--protocol must be one of {', '.join(names)}, not {protocol}")
        if (endpoint := normalized(place)) is None:
            raise UsageProblemError(f"the endpoint {place} is not an http or https URL")
        return [Target(Protocol(protocol), *endpoint, is_paid=is_paid)]
    agent = AgentId.parse(place)
    if agent.chain_id is None:
        raise UsageProblemError("the agent id must include its chain, as in 84532:42")
    with open_index(database) as engine, snapshot(engine) as connection:
        return [target for target in read_targets(connection, [agent.chain_id]) if str(agent) in target.agents]


def _built(
    stack: ExitStack, shared: Shared, store: Store, probing: ProbeOptions, settings: WatchSettings
) -> Watchtower:
    """Return a watchtower for the endpoints in the index."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    from bilateral.watchtower import politeness, run, watching  # noqa: PLC0415  # slow to import

    shared.take_targets()
    executor = ThreadPoolExecutor(watching.ALL_THREADS)
    stack.callback(executor.shutdown, wait=False, cancel_futures=True)
    return run.Watchtower(store, settings, politeness.Requests(probing.settings()), executor)


def _answer_monitors(invocation: Invocation, tower: Watchtower, host: str, port: int) -> None:
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415  # slow to import

    from bilateral.watchtower.watching import Figures  # noqa: PLC0415

    registry = CollectorRegistry()
    registry.register(Figures(tower))
    server, _ = start_http_server(port, host, registry)
    invocation.output.note(f"metrics=http://{host}:{server.server_port}/metrics")


def _progress(tower: Watchtower) -> str:
    outcomes = Counter[str]()
    for (_, outcome), number in tower.outcomes.copy().items():
        outcomes[outcome] += number
    counts = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    place = "" if tower.vantage.is_online else "; this vantage point is offline, so nothing is probed"
    return f"results: {counts or 'none yet'}; waiting: {len(tower.delays)}{place}"


def _show(invocation: Invocation, store: Store) -> None:
    """Show the state of each endpoint by agent, and the numbers of agents and hosts."""
    from bilateral.index.measurements.values import REACHABLE  # noqa: PLC0415  # slow to import

    rows = [
        {
            **{name: vars(entry.target)[name] for name in ("protocol", "host", "url")},
            **{name: vars(entry.condition)[name] for name in _NAMES},
            "agent": agent,
            "alive": entry.condition.state in REACHABLE,
        }
        for entry in store.endpoints()
        for agent in entry.target.agents
    ]
    rows.sort(key=lambda row: (not row["alive"], row["agent"], row["url"]))
    invocation.output.results(rows, _COLUMNS, none="no agent in the index lists an endpoint")

    counts = []
    for name in ("agent", "host"):
        alive = {row[name] for row in rows if row["alive"]}
        counts.append(f"{len(alive)} of {len({row[name] for row in rows})} {name}s")
    invocation.output.note(f"alive now: {', on '.join(counts)}")


_NAMES: Final = ("state", "code", "since", "failures", "probed_at", "milliseconds")


def _time(seconds: int | None) -> str | None:
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


_COLUMNS: Final = columns(
    *("agent", "protocol", "host"),
    state=lambda row: row["state"] or ("suspect" if row["failures"] else "not measured"),
    code="code",
    since=lambda row: _time(row["since"]),
    probed=lambda row: _time(row["probed_at"]),
    ms="milliseconds",
)


add_commands(app)

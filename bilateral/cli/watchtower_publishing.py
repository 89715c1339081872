"""`bilateral watchtower …`: publish, export and merge measurements, and buy from sellers."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from bilateral.cli.columns import columns
from bilateral.cli.index_options import Database, open_index, require_extra
from bilateral.cli.invocation import NOT_SENT, Invocation
from bilateral.cli.options import Agent, argument, command, flag, option, optional
from bilateral.cli.service import require_api
from bilateral.core.errors import BilateralError, InvalidArgumentError, require_modules
from bilateral.core.identifiers import AgentId, GlobalAgentId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import typer

    from bilateral.index.reading.readers import Reader
    from bilateral.watchtower.buying import Budget
    from bilateral.watchtower.store import Store

StoreUrl = Annotated[
    str | None,
    option(
        "URL",
        "The watchtower's own database, sqlite:///FILE or postgresql://…; by default, next to the index.",
        "--store",
        envvar="BILATERAL_WATCHTOWER",
    ),
]
PeriodName = Annotated[str, option("WEEK", "A completed ISO week, such as 2026-W47.", "--period")]
Vantage = Annotated[str, option("NAME", "The name of the vantage point.", "--vantage")]

_MICROS: Final = 1_000_000
_SECONDS: Final = 30.0  # the time limit for a check, as in `bilateral check`


def add_commands(app: typer.Typer) -> None:
    """Add the commands to their group."""
    command(app, writes=True, stores=True, needs=require_extra)(publish)
    command(app, is_local=True, needs=require_extra)(export)
    command(app, is_local=True, needs=require_extra)(merge)
    command(app, signs=True, is_local=True, needs=_require_payments)(buy)


def opened(url: str | None, *, creates: bool = False) -> Store:
    """Open a watchtower's database."""
    from bilateral.watchtower.store import open_store  # noqa: PLC0415  # slow to import

    return open_store(url, creates=creates)


def _require_payments() -> None:
    require_extra()
    require_modules("x402", "x402", "eth_account")


def publish(  # noqa: PLR0913, PLR0917  # one a setting
    invocation: Invocation,
    period: PeriodName,
    agent: Agent,
    is_complete: bool = flag("--all", "Publish all signals, not only those that changed."),
    tower: StoreUrl = None,
    database: Database = None,
) -> None:
    """Publish a week's signals with evidence, and store the root of all measurements in your agent's metadata.

    Run the command again to complete an interrupted run. AGENT is your own.
    """
    from bilateral.watchtower import periods, publishing  # noqa: PLC0415  # slow to import
    from bilateral.watchtower.store import PUBLISHED  # noqa: PLC0415

    week, store = periods.Period.parse(period), opened(tower)
    with open_index(database) as index:
        leaves, previous = periods.freeze(store, index, week, dry_run=invocation.settings.dry_run)
    options: dict[str, Any] = {"is_complete": is_complete}
    if invocation.settings.dry_run:
        tags = Counter(due.tag for due in publishing.due_signals(leaves, previous, week, **options))
        invocation.output.result({"period": week.name, "measurements": len(leaves), "due": dict(tags)}, title=NOT_SENT)
        return
    own = GlobalAgentId.parse(agent).agent_id if "#" in agent else AgentId.parse(agent)
    with invocation.signing("Publishing") as client:
        report = publishing.publish(client, own, week, leaves, previous, **options)
    store.set_setting(PUBLISHED, (store.setting(PUBLISHED) or 0) + len(report.sent))
    value = {
        "period": week.name,
        "root": report.root.hex(),
        "measurements": report.uri,
        "due": report.due,
        "sent": report.sent,
        "refused": [f"{due.agent} {due.tag}" for due in report.refused],
    }
    invocation.output.result(value, title=f"Measurements of {week.name}")


def export(  # noqa: PLR0913, PLR0917  # one a setting
    invocation: Invocation,
    file: Annotated[Path, argument("FILE", "The file to write.")],
    period: PeriodName,
    key_file: Path | None = optional(
        "FILE",
        "Write one vantage point's measurements, signed with this key for other "
        "watchtowers (see `bilateral webhooks new-key`).",
    ),
    vantage: Vantage = "main",
    store_url: StoreUrl = None,
    database: Database = None,
) -> None:
    """Write all measurements from a week, one per line, as stored by `publish`, so anyone can recompute the signals."""
    from bilateral.watchtower import periods, publishing  # noqa: PLC0415  # slow to import

    week, store = periods.Period.parse(period), opened(store_url)
    if key_file is not None:
        require_api()
        from bilateral.api.webhooks import read_key  # noqa: PLC0415
        from bilateral.watchtower.merge import export_vantage  # noqa: PLC0415

        key = read_key(key_file)
        file.write_bytes(export_vantage(store, week, vantage, key))
        invocation.output.result({"file": str(file), "keyid": key.thumbprint()}, title=f"Measurements of {vantage}")
        return
    with open_index(database) as index:
        leaves = periods.measurements(store, index, week)
    if not leaves:
        raise InvalidArgumentError(f"nothing was measured in {week.name}: choose a different --period")
    tree = publishing.MerkleTree(leaves)
    file.write_bytes(tree.content)
    value = {"file": str(file), "measurements": len(leaves), "root": tree.root.hex()}
    invocation.output.result(value, title=f"Measurements of {week.name}")


def merge(
    invocation: Invocation,
    file: Annotated[Path, argument("FILE", "The file from another vantage point.")],
    public_key: Annotated[Path, option("FILE", "That vantage point's public key, in PEM.", "--public-key")],
    vantage: Vantage,
    store_url: StoreUrl = None,
) -> None:
    """Add measurements from another vantage point before publishing. Files without a valid signature are rejected."""
    from joserfc.errors import JoseError  # noqa: PLC0415  # slow to import
    from joserfc.jwk import OKPKey  # noqa: PLC0415

    from bilateral.watchtower.merge import merge as add  # noqa: PLC0415

    try:
        key, content = OKPKey.import_key(public_key.read_bytes()), file.read_bytes()
    except (OSError, JoseError, ValueError, TypeError) as problem:
        raise InvalidArgumentError(f"FILE or --public-key cannot be read: {problem}") from None
    hours = add(opened(store_url), content, vantage, key)
    invocation.output.result({"vantage": vantage, "hours": hours}, title="Merged")


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """The limits on spending for paid probes."""

    tokens: list[str] = option(
        "TOKEN",
        "A token worth one dollar, as eip155:8453/0x…=6: network, address and decimals; may be repeated.",
        "--token",
    )
    call: str = option("DOLLARS", "The maximum price of a single call.", default="0.05")
    day: str = option("DOLLARS", "The maximum amount to spend per UTC day.", default="5")

    def budget(self) -> Budget:
        """Return the budget."""
        from bilateral.watchtower.buying import Budget  # noqa: PLC0415  # slow to import

        decimals_of: dict[tuple[str, str], int] = {}
        for token in self.tokens:
            place, _, decimals = token.partition("=")
            network, slash, address = place.partition("/")
            if not slash or not decimals.isdecimal():
                raise InvalidArgumentError(f"--token must have the form eip155:8453/0x…=6, not {token}")
            decimals_of[network, address.lower()] = int(decimals)
        try:
            return Budget(decimals_of, *(int(Decimal(dollars) * _MICROS) for dollars in (self.call, self.day)))
        except (ArithmeticError, ValueError):
            raise InvalidArgumentError(f"--call {self.call} or --day {self.day} is not an amount in dollars") from None


def buy(
    invocation: Invocation,
    options: BudgetOptions,
    store_url: StoreUrl = None,
    database: Database = None,
) -> None:
    """Buy once a week from each seller whose price fits the budget, and report who delivers. Payments are final."""
    from bilateral.index.reading.readers import Reader  # noqa: PLC0415
    from bilateral.watchtower.buying import Buyer, Purchase  # noqa: PLC0415  # slow to import

    store = opened(store_url)
    rows = []
    with closing(Reader(database, seconds=_SECONDS)) as reader:
        buyer = Buyer(store.engine, invocation.signer, options.budget(), _declining(reader))
        for entry in store.endpoints():
            if entry.target.is_paid and entry.condition.facts:
                outcome = buyer.buy(entry.target, entry.condition.facts)
                rows.append({"url": entry.target.url, "outcome": str(outcome)})
                if outcome is Purchase.OVER_BUDGET:
                    break
    invocation.output.results(rows, columns("url", "outcome"), none="no seller's price has been probed yet")


def _declining(reader: Reader) -> Callable[[str, Mapping[str, Any]], bool]:
    """Return a function that decides from an index which agents not to pay."""
    from bilateral.checks.policy import PolicyName, policy_of  # noqa: PLC0415  # slow to import
    from bilateral.checks.questions import OfServer, Snapshot  # noqa: PLC0415

    options = {"policy": policy_of({"name": PolicyName.BALANCED}), **Snapshot().snapshot_options()}

    def declines(agent: str, terms: Mapping[str, Any]) -> bool:
        chain_id = int(terms["network"].removeprefix("eip155:"))
        fields = {"agent": agent, "pay_to": terms["payTo"], "payment_chain": chain_id}
        try:
            question = OfServer.model_validate(fields)
            return reader.read(question.check, **options).verdict == "decline"
        except (BilateralError, ValueError):  # an agent that the index no longer contains, or meaningless terms
            return True

    return declines

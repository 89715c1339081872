"""`bilateral check …`: should I pay this server, should I serve this client?"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.errors import UsageProblemError
from bilateral.cli.index_options import Database
from bilateral.cli.index_processes import require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.live_check import EXITS, show_live
from bilateral.cli.options import command, make_group
from bilateral.cli.solana import SOLANA_NODE_VARIABLE
from bilateral.cli.url_check import CheckGroup, check_url_command
from bilateral.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from bilateral.checks import Check, Policy

app = make_group("check", cls=CheckGroup)

_SECONDS: Final = 30.0
"""Seconds that a check may take: fifteen times the limit of a service, as nobody else waits."""

_SOURCES: Final = {"server": ("files", "analysis"), "client": ("payments", "analysis")}
_HASH: Final = re.compile("0x[0-9a-fA-F]{64}")

PolicySource = Annotated[
    str | None,
    typer.Option(
        "--policy", metavar="NAME|FILE", help="balanced, strict, own-list, or a file in TOML, see docs/checks.md."
    ),
]
AtBlock = Annotated[
    int | None, typer.Option("--at-block", min=0, help="The block of the answer; the last indexed one if left out.")
]
History = Annotated[
    str | None, typer.Option("--history", metavar="HASH", help="The history of an earlier answer: refuse another fork.")
]
Repeat = Annotated[
    Path | None,
    typer.Option("--repeat", metavar="FILE", help="An earlier answer as JSON: check again by what was known then."),
]
Minimum = Annotated[
    str | None, typer.Option("--minimum-rating", metavar="RATING", help="The lowest acceptable rating, 0 to 100.")
]
TrustAccounts = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="ADDRESS", help="Count the ratings of this account; may be repeated."),
]
TrustAgents = Annotated[
    list[str] | None,
    typer.Option("--trust-agent", metavar="AGENT", help="Count the ratings of this agent; may be repeated."),
]
Live = Annotated[
    bool, typer.Option("--live", help="Ask a node instead of an index: --rpc-url, for Solana --solana-node.")
]
SolanaNode = Annotated[
    str | None,
    typer.Option(
        "--solana-node", envvar=SOLANA_NODE_VARIABLE, metavar="URL", help="The node of Solana that --live asks."
    ),
]
NoFindings = Annotated[bool, typer.Option("--no-findings", help="Leave out the findings of trust analysis.")]


@command(
    app,
    "server",
    "bilateral check server 8453:247 --pay-to 0x8004B663056A597Dffe9eCcC1965A193B7388713",
    "bilateral check server 8453:247 --policy policy.toml --json",
    "bilateral check server 8453:247 --at-block 31204111",
    "bilateral check server solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1:7v91N7iZ9mNicL8WfG6cgSCKyRXydQjLh6UYBWwm6y1Q "
    "--live --solana-node https://api.devnet.solana.com",
    "bilateral check server 8453:247 --live --rpc-url https://mainnet.base.org",
)
def check_server_command(  # noqa: PLR0913, PLR0917  # one a setting
    invocation: Invocation,
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="The server: 8453:247, eip155:8453:0x…#247, or with --live solana:<chain>:<mint>.",
            show_default=False,
        ),
    ],
    pay_to: Annotated[
        str | None, typer.Option("--pay-to", metavar="ADDRESS", help="The account that a payment would go to.")
    ] = None,
    payment_chain: Annotated[
        int | None, typer.Option("--payment-chain", min=1, help="The chain of the payment; the agent's if left out.")
    ] = None,
    amount: Annotated[
        str | None, typer.Option("--amount", metavar="AMOUNT", help="The money asked for, in units of the token.")
    ] = None,
    for_client: Annotated[
        str | None,
        typer.Option("--for-client", metavar="CLIENT", help="The account or agent that asks, for its own experience."),
    ] = None,
    policy: PolicySource = None,
    minimum_rating: Minimum = None,
    trust: TrustAccounts = None,
    trust_agents: TrustAgents = None,
    at_block: AtBlock = None,
    history: History = None,
    repeat: Repeat = None,
    no_findings: NoFindings = False,
    database: Database = None,
    live: Live = False,
    solana_node: SolanaNode = None,
) -> None:
    """Check a server before paying it. The exit code is 0 for accept, 12 for caution, 13 for decline."""
    require_extra()
    if live or agent.startswith("solana:"):
        of_index = (payment_chain, for_client, at_block, history, repeat, database)
        if any(option is not None for option in of_index):
            raise UsageProblemError("a live check has no index: leave its options out, as --at-block and --database")
        chosen = _policy(policy, minimum_rating, trust, trust_agents)
        show_live(invocation, agent, is_live=live, node=solana_node, pay_to=pay_to, policy=chosen)
        return
    from bilateral.checks import Payment, check_server, stored_findings  # noqa: PLC0415  # slow to import

    if pay_to is None and payment_chain is not None:
        raise UsageProblemError("--payment-chain is of a payment: give --pay-to too")
    chosen = _policy(policy, minimum_rating, trust, trust_agents)
    moment = _moment("server", at_block, history, repeat)
    with _reading(database) as connection:
        check = check_server(
            connection,
            agent,
            payment=None if pay_to is None else Payment(pay_to, payment_chain),
            amount=None if amount is None else _amount(amount),
            policy=chosen,
            for_client=for_client,
            findings=None if no_findings else stored_findings,
            **moment,
        )
    _show(invocation, check)


def _amount(text: str) -> Decimal:
    """Return an amount of money as a number.

    Raises:
        UsageProblemError: It is not a number.
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        raise UsageProblemError(
            f"--amount {quoted(text)} is not a number: give units of the token, such as 0.5"
        ) from None


@command(
    app,
    "client",
    "bilateral check client 8453:12 --for-server 8453:247",
    "bilateral check client 0x8004B663056A597Dffe9eCcC1965A193B7388713 --chain-id 8453 --minimum-rating 80",
    is_local=True,
)
def check_client_command(  # noqa: PLR0913, PLR0917  # one a setting
    invocation: Invocation,
    client: Annotated[
        str, typer.Argument(metavar="CLIENT", help="The client: an account, or an agent.", show_default=False)
    ],
    for_server: Annotated[
        str | None,
        typer.Option("--for-server", metavar="AGENT", help="The server that asks. Its own rating counts above all."),
    ] = None,
    chain_id: Annotated[
        int | None, typer.Option("--chain-id", min=1, help="The chain of an account, if the index has several.")
    ] = None,
    policy: PolicySource = None,
    minimum_rating: Minimum = None,
    trust: TrustAccounts = None,
    trust_agents: TrustAgents = None,
    at_block: AtBlock = None,
    history: History = None,
    repeat: Repeat = None,
    no_findings: NoFindings = False,
    database: Database = None,
) -> None:
    """Check a client before serving it. The exit code is 0 for accept, 12 for caution, 13 for decline."""
    require_extra()
    from bilateral.api.stored_buyers import stored_buyers  # noqa: PLC0415  # slow to import
    from bilateral.checks import check_client, stored_findings  # noqa: PLC0415  # slow to import

    chosen = _policy(policy, minimum_rating, trust, trust_agents)
    moment = _moment("client", at_block, history, repeat)
    with _reading(database) as connection:
        check = check_client(
            connection,
            client,
            for_server=for_server,
            policy=chosen,
            chain_id=chain_id,
            findings=None if no_findings else stored_findings,
            **moment,
            buyers=stored_buyers,
        )
    _show(invocation, check)


command(
    app,
    "url",
    "bilateral check url https://agent.example/weather --rpc-url https://mainnet.base.org",
    "bilateral check url https://agent.example/forecast --method POST --body-file question.json",
)(check_url_command)


@contextmanager
def _reading(database: str | None) -> Iterator[Connection]:
    """Open the database of an index, and lend a connection that only reads."""
    from bilateral.query.readers import Reader  # noqa: PLC0415  # slow to import

    reader = Reader(database, seconds=_SECONDS)
    try:
        with reader.connect() as connection:
            yield connection
    finally:
        reader.close()


def _policy(
    source: str | None, minimum_rating: str | None, accounts: list[str] | None, agents: list[str] | None
) -> Policy:
    """Return the policy with a name or in a file, with what the options say."""
    from bilateral.checks.policy import policy_of, read_fields, with_reviewers  # noqa: PLC0415  # slow to import
    from bilateral.checks.presets import PRESETS, PolicyName  # noqa: PLC0415  # slow to import

    named = source or PolicyName.BALANCED
    fields: dict[str, Any] = {"name": named} if named in PRESETS else read_fields(Path(named))
    if minimum_rating is not None:
        fields["minimum_rating"] = minimum_rating
    return policy_of(with_reviewers(fields, accounts or (), agents or ()))


def _moment(side: str, at_block: int | None, history: str | None, repeat: Path | None) -> dict[str, Any]:
    """Return the options of a check that say its moment.

    Raises:
        UsageProblemError: The options contradict each other, or the earlier answer cannot be read.
    """
    if repeat is None:
        return {"at_block": at_block, "history": _history(history)}
    if at_block is not None or history is not None:
        raise UsageProblemError("--repeat names the block and the history: give it alone")
    try:
        answer = json.loads(repeat.read_bytes())
        if answer["side"] != side:
            raise UsageProblemError(f"{quoted(str(repeat))} is an answer about a {answer['side']}, not a {side}")
        sources = {name: int(answer[name]) for name in _SOURCES[side]}
        return {"at_block": int(answer["block"]), "history": _history(answer["history"]), **sources}
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageProblemError(f"{quoted(str(repeat))} is not an answer of a check: write one with --json") from None


def _history(text: str | None) -> bytes | None:
    """Return the hash that an option gives.

    Raises:
        UsageProblemError: It is not 32 bytes in hexadecimal digits.
    """
    if text is None:
        return None
    if not _HASH.fullmatch(text):
        raise UsageProblemError("--history is 0x and 64 hexadecimal digits, as an earlier answer has it")
    return bytes.fromhex(text[2:])


def _show(invocation: Invocation, check: Check) -> None:
    """Show an answer, and end with the exit code of its verdict."""
    view = {
        "verdict": check.verdict.value,
        "agent": check.agent,
        "account": check.account,
        "name, as it calls itself": check.untrusted.get("name"),
        "domains, as it names them": check.untrusted.get("domains"),
        "block": check.block,
        "reasons": {f"{reason.severity.value}: {reason.code.value}": reason.sentence for reason in check.reasons},
        "rating": check.figures.get("rating"),
    }
    invocation.output.result(check, title=f"Check of a {check.side}", view=view)
    if code := EXITS[check.verdict.value]:
        raise typer.Exit(code)

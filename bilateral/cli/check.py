"""`bilateral check …`: should I pay this server? Should I serve this client?"""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from pydantic import Field

from bilateral.checks.questions import OfClient, OfServer, Snapshot, Text
from bilateral.cli.columns import Reader, columns
from bilateral.cli.errors import ExitCode, UsageProblemError, option_with_variable
from bilateral.cli.index_options import Database, require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import ExampleGroup, argument, command, flag, make_group, option, optional
from bilateral.cli.solana import SOLANA_NODE_VARIABLE
from bilateral.core.text import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bilateral.checks import LiveCheck, Policy
    from bilateral.client import Client


class CheckGroup(ExampleGroup):
    """The group of checks. A URL in place of a command's name is checked directly."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments specify."""
        is_url = args[0].lower().startswith(("http://", "https://"))
        return super().resolve_command(ctx, ["url", *args] if is_url else args)


app = make_group("check", cls=CheckGroup)

_TERMS: Final = ("scheme", "network", "asset")
"""The terms displayed next to a price, because any token can use a well-known name."""

_SECONDS: Final = 30.0
"""The time limit for a check in seconds: fifteen times a service's limit, because a command has a single user."""

_SOURCES: Final = {"server": ("files", "measurements"), "client": ("payments",)}
"""The check's options that identify the data behind an earlier result."""


@dataclass(frozen=True)
class LiveOptions:
    """The options of a check that queries nodes."""

    live: bool = flag("--live", "Query a node instead of an index: --rpc-url, or --solana-node for Solana.")
    solana_node: str | None = optional("URL", "The Solana node that --live queries.", envvar=SOLANA_NODE_VARIABLE)


@dataclass(frozen=True)
class PolicyOptions:
    """The options for a policy: its name or file, and its fields."""

    policy: str | None = optional("NAME|FILE", "A policy: balanced, strict, own-list or a TOML file (docs/checks.md).")
    minimum_rating: str | None = optional("RATING", "The lowest acceptable rating, 0 to 100.")
    trust: list[str] | None = optional("ADDRESS", "Count ratings by this account; may be repeated.")
    trust_agent: list[str] | None = optional("AGENT", "Count ratings by this agent; may be repeated.")

    def chosen(self) -> Policy:
        """Return the policy that is specified by name or by a file, with the options applied."""
        from bilateral.checks.policy import PRESETS, PolicyName, policy_of, read_fields, with_reviewers  # noqa: PLC0415  # slow to import

        name = self.policy or PolicyName.BALANCED
        fields: dict[str, Any] = {"name": name} if name in PRESETS else read_fields(Path(name))
        if self.minimum_rating is not None:
            fields["minimum_rating"] = self.minimum_rating
        return policy_of(with_reviewers(fields, self.trust or (), self.trust_agent or ()))


class ServerOptions(OfServer):
    """The options for a question about a server, which may be on Solana."""

    agent_id: Annotated[
        Text,
        Field(
            alias="agent",
            description="The server: 8453:247, eip155:8453:0x…#247, or, with --live, solana:<chain>:<mint>.",
        ),
    ]


class ClientOptions(OfClient):
    """The options for a question about a client, whose chain may differ from the node's."""

    chain: Annotated[
        int | None, typer.Option("--chain-id", min=1, help="The account's chain, if the index contains several chains.")
    ] = None


class SnapshotOptions(Snapshot):
    """The block of a check, and whether findings count."""

    findings: Annotated[
        bool,
        typer.Option(
            "--findings/--no-findings", help=("Take findings from the trust analysis into account, or ignore them.")
        ),
    ] = True


Repeat = Annotated[
    Path | None,
    option("FILE", "An earlier check result as JSON; the check is run again with the data from that time.", "--repeat"),
]


@command(app, "server", needs=require_extra)
def check_server_command(  # noqa: PLR0913, PLR0917  # models, and what a check of nodes asks
    invocation: Invocation,
    question: ServerOptions,
    as_of: SnapshotOptions,
    policy: PolicyOptions,
    nodes: LiveOptions,
    repeat: Repeat = None,
    database: Database = None,
) -> None:
    """Check a server before paying it. The exit code is 0 for accept, 12 for caution, 13 for decline."""
    if nodes.live or question.agent_id.startswith("solana:"):
        of_index = (question.model_fields_set | as_of.model_fields_set) - {"agent_id", "pay_to", "amount", "findings"}
        if of_index or repeat is not None or database is not None:
            options = [f"--{name.replace('_', '-')}" for name in sorted(of_index)]
            options += ["--repeat"] * (repeat is not None)
            options += [option_with_variable("--database", "BILATERAL_DATABASE")] * (database is not None)
            raise UsageProblemError(f"a live check uses no index: remove {' and '.join(options)}")
        _ask_nodes(invocation, question.agent_id, nodes, pay_to=question.pay_to, policy=policy.chosen())
        return
    if question.pay_to is None and question.payment_chain is not None:
        raise UsageProblemError("--payment-chain requires --pay-to")
    _answer(invocation, (question, as_of), policy, repeat, database)


@command(app, "client", is_local=True, needs=require_extra)
def check_client_command(  # noqa: PLR0913, PLR0917  # models, and the index
    invocation: Invocation,
    question: ClientOptions,
    as_of: SnapshotOptions,
    policy: PolicyOptions,
    repeat: Repeat = None,
    database: Database = None,
) -> None:
    """Check a client before serving it. The exit code is 0 for accept, 12 for caution, 13 for decline."""
    from bilateral.api.stored_buyers import stored_buyers  # noqa: PLC0415  # slow to import

    _answer(invocation, (question, as_of), policy, repeat, database, buyers=stored_buyers)


@command(app, "url")
def check_url_command(
    invocation: Invocation,
    url: Annotated[str, argument("URL", "The URL of a paid route.")],
    method: str = option("NAME", "The request's HTTP method.", default="GET"),
    body_file: Path | None = optional("FILE", "A file containing the request body."),
) -> None:
    """Check a paid service by its URL: price, agent, registration file, ratings. Exit codes as for `check server`."""
    from bilateral.x402.clients.preflight import ask_price  # noqa: PLC0415  # slow, and an extra
    from bilateral.x402.clients.service_check import check_service  # noqa: PLC0415

    rpc_url = invocation.settings.rpc_url
    if rpc_url is None:
        raise UsageProblemError("checking a URL requires a node: pass --rpc-url")
    content = b"" if body_file is None else invocation.read_file(body_file)
    with invocation.reading("Querying the service and the node") as client:
        invocation.output.note("requesting the price")
        price = ask_price(url, method, content=content)
        loader, report = invocation.loader(), invocation.output.note
        answer = check_service(client, rpc_url, url, price, loader=loader, report=report)
    view = {
        "verdict": answer.verdict.value,
        "price": [
            f"{option['text']} ({', '.join(option[name] for name in _TERMS if name in option)})"
            for option in answer.price
        ],
        "declaration": {
            f"{finding.check}, {finding.network}": finding.problem or "passed" for finding in answer.findings
        },
        **{f"agent {agent.agent}": _view(agent, _AGENT) | _reasons(agent) for agent in answer.agents},
        "not known": [*answer.unknown, *(fact for agent in answer.agents[:1] for fact in agent.unknown)],
    }
    _conclude(invocation, answer, "Check of a service", view)


def _answer(
    invocation: Invocation,
    subject: tuple[OfServer | OfClient, Snapshot],
    policy: PolicyOptions,
    repeat: Path | None,
    database: str | None,
    **options: Any,
) -> None:
    from bilateral.index.reading.readers import Reader  # noqa: PLC0415  # slow to import

    chosen = policy.chosen()
    question, as_of = subject if repeat is None else _repeated(*subject, repeat)
    with closing(Reader(database, seconds=_SECONDS)) as reader:
        check = reader.read(question.check, policy=chosen, **as_of.snapshot_options(), **options)
    _conclude(invocation, check, f"Check of a {check.side}", _view(check, _CHECK))


def _repeated(question: OfServer | OfClient, as_of: Snapshot, repeat: Path) -> tuple[OfServer | OfClient, Snapshot]:
    side = "server" if isinstance(question, OfServer) else "client"
    sources = _SOURCES[side]
    if (question.model_fields_set | as_of.model_fields_set) & {"at_block", "history", "analysis", *sources}:
        raise UsageProblemError("--repeat sets the block, history and sources: remove the options that also set them")
    try:
        answer = json.loads(repeat.read_bytes())
        if answer["side"] != side:
            raise UsageProblemError(f"{quoted(str(repeat))} is a check result for a {answer['side']}, not for a {side}")
        fields = {"at_block": answer["block"], "history": answer["history"], "analysis": answer["analysis"]}
        earlier = Snapshot(**fields, findings=as_of.findings)
        return question.model_copy(update={source: int(answer[source]) for source in sources}), earlier
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageProblemError(f"{quoted(str(repeat))} is not a saved check result: save one with --json") from None


def _reasons(answer: Any) -> dict[str, str]:
    return {f"{reason.severity.value}: {reason.code.value}": reason.sentence for reason in answer.reasons}


_NAME: Final[Mapping[str, Any]] = {"self-declared name": "untrusted.name"}
_AGENT: Final = columns(**_NAME, wallet="account", rating="figures.rating.rating")
_SUBJECT: Final = columns(verdict="verdict.value", agent="agent", account="account", **_NAME)
_CHECK: Final = _SUBJECT | columns(
    **{"self-declared domains": "untrusted.domains"}, block="block", reasons=_reasons, rating="figures.rating"
)
_LIVE: Final = columns(
    reasons=_reasons,
    also=lambda answer: {other.agent: other.problem or "both files list each other" for other in answer.also},
    rating="figures.rating",
    requests_to_the_node="figures.requests",
    not_known_without_an_index=lambda answer: list(answer.unknown),
)
"""The fields of live answers that tables show, by label."""


def _view(answer: Any, readers: Mapping[str, Reader]) -> dict[str, Any]:
    return {label: read(answer) for label, read in readers.items()}


_EXITS: Final = {"accept": ExitCode.DONE, "caution": ExitCode.CAUTION, "decline": ExitCode.DECLINE}
"""The exit code for each verdict."""


def _conclude(invocation: Invocation, answer: Any, title: str, view: Mapping[str, Any]) -> None:
    invocation.output.result(answer, title=title, view=view)
    if code := _EXITS[answer.verdict.value]:
        raise typer.Exit(code)


def _ask_nodes(invocation: Invocation, agent: str, nodes: LiveOptions, **terms: Any) -> None:
    from bilateral.checks import check_live_server  # noqa: PLC0415  # slow to import

    if not nodes.live:
        raise UsageProblemError("agents on Solana are not indexed: add --live")
    if agent.startswith("solana:"):
        answer = _ask_solana(invocation, agent, nodes.solana_node, **terms)
    else:
        with invocation.reading() as client:
            answer = check_live_server(
                client, agent, loader=invocation.loader(), report=invocation.output.note, **terms
            )
    place = {"slot" if answer.chain.startswith("solana:") else "block": answer.block}
    _conclude(invocation, answer, "Check of a server", _view(answer, _SUBJECT) | place | _view(answer, _LIVE))


def _ask_solana(invocation: Invocation, agent: str, node: str | None, **terms: Any) -> LiveCheck:
    """Query the Solana node and, to prove a registration on an EVM chain, that chain's node if there is one."""
    from bilateral.checks import check_solana_server  # noqa: PLC0415  # slow to import

    if node is None:
        raise UsageProblemError("--live requires a Solana node: pass --solana-node")
    with ExitStack() as stack:
        clients: dict[str, Client] = {}
        if invocation.settings.rpc_url is not None:
            client = stack.enter_context(invocation.reading())
            clients = {str(client.get_deployment().agent_registry.chain): client}
        stack.enter_context(invocation.output.waiting("Querying the node"))
        return check_solana_server(agent, node, loader=invocation.loader(), clients=clients, **terms)

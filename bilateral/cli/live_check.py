"""`bilateral check server … --live`: the answer from nodes, without an index."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bilateral.cli.errors import ExitCode, UsageProblemError
from bilateral.cli.help import option
from bilateral.cli.solana import SOLANA_NODE_VARIABLE

if TYPE_CHECKING:
    from bilateral.checks import LiveCheck, Policy
    from bilateral.cli.invocation import Invocation
    from bilateral.client import Client

EXITS: Final = {"accept": ExitCode.DONE, "caution": ExitCode.CAUTION, "decline": ExitCode.DECLINE}
"""The exit code of each verdict."""


@dataclass(frozen=True)
class LiveOptions:
    """The options of a check that asks nodes."""

    live: Annotated[
        bool, typer.Option("--live", help="Ask a node instead of an index: --rpc-url, for Solana --solana-node.")
    ] = False
    solana_node: Annotated[
        str | None, option("URL", "The node of Solana that --live asks.", envvar=SOLANA_NODE_VARIABLE)
    ] = None


def show_live(invocation: Invocation, agent: str, nodes: LiveOptions, *, pay_to: str | None, policy: Policy) -> None:
    """Check a server by nodes, show the answer, and end with the exit code of its verdict.

    Args:
        agent: The server.
        nodes: The nodes to ask, if the user wants that.
        pay_to: The account that a payment would go to.

    Raises:
        UsageProblemError: `--live` or the node is missing.
    """
    if not nodes.live:
        raise UsageProblemError("no index has agents on Solana: add --live")
    answer = (_of_solana if agent.startswith("solana:") else _of_evm)(
        invocation, agent, nodes.solana_node, pay_to, policy
    )
    view = {
        "verdict": answer.verdict.value,
        "agent": answer.agent,
        "account": answer.account,
        "name, as it calls itself": answer.untrusted.get("name"),
        "slot" if answer.chain.startswith("solana:") else "block": answer.block,
        "reasons": {f"{reason.severity.value}: {reason.code.value}": reason.sentence for reason in answer.reasons},
        "also": {other.agent: other.problem or "both files name each other" for other in answer.also},
        "rating": answer.figures.get("rating"),
        "requests to the node": answer.figures.get("requests"),
        "not known without an index": list(answer.unknown),
    }
    invocation.output.result(answer, title="Check of a server", view=view)
    if code := EXITS[answer.verdict.value]:
        raise typer.Exit(code)


def _of_evm(
    invocation: Invocation,
    agent: str,
    node: str | None,  # noqa: ARG001  # the other function's
    pay_to: str | None,
    policy: Policy,
) -> LiveCheck:
    """Ask the node of an EVM chain."""
    from bilateral.checks import check_live_server  # noqa: PLC0415  # slow to import

    with invocation.reading() as client:
        return check_live_server(
            client, agent, pay_to=pay_to, policy=policy, loader=invocation.loader(), report=invocation.output.note
        )


def _of_solana(invocation: Invocation, agent: str, node: str | None, pay_to: str | None, policy: Policy) -> LiveCheck:
    """Ask the node of Solana. The node of an EVM chain is asked too if there is one: it proves a registration there."""
    from bilateral.checks import check_solana_server  # noqa: PLC0415  # slow to import

    if node is None:
        raise UsageProblemError("--live asks a node of Solana: give --solana-node")
    with ExitStack() as stack:
        clients: dict[str, Client] = {}
        if invocation.settings.rpc_url is not None:
            client = stack.enter_context(invocation.reading())
            clients = {str(client.get_deployment().agent_registry.chain): client}
        stack.enter_context(invocation.output.waiting("Asking the node"))
        return check_solana_server(
            agent, node, pay_to=pay_to, policy=policy, loader=invocation.loader(), clients=clients
        )

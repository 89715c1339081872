"""Tools that answer before money moves: should I pay this server, should I serve this client?"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from anyio import to_thread
from pydantic import Field

from bilateral.api.mcp.lookups import READS, AgentText, tool_errors
from bilateral.api.mcp.untrusted import Judged, judged
from bilateral.api.stored_buyers import stored_buyers
from bilateral.api.texts import require_storable
from bilateral.checks import Check, Payment, PolicyName, check_client, check_server, stored_findings
from bilateral.checks.policy import policy_of, with_reviewers
from bilateral.checks.subjects import is_account
from bilateral.errors import InvalidArgumentError

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from sqlalchemy import Connection

    from bilateral.query.readers import Reader

_Text = Annotated[str, Field(max_length=200)]
_Number = Annotated[int | None, Field(ge=0, lt=2**63)]

PolicyArgument = Annotated[
    str | dict[str, Any],
    Field(description="balanced, strict, own-list (needs `reviewers`), or an object: see bilateral://policy."),
]
_Reviewers = Annotated[list[_Text], Field(max_length=1_000)]
History = Annotated[str | None, Field(pattern="^0x[0-9a-fA-F]{64}$")]


def add_tools(server: MCPServer[Any], reader: Reader) -> None:
    """Add the tools.

    Args:
        server: The server.
        reader: The database of the index.
    """

    @server.tool(name="check_server", title="Check server", annotations=READS)
    async def check_server_(  # noqa: PLR0913, PLR0917  # one a part of the question
        agent_id: AgentText,
        pay_to: Annotated[str | None, Field(max_length=42, description="Payee.")] = None,
        payment_chain: Annotated[int | None, Field(ge=1, lt=2**63)] = None,
        amount: Annotated[Decimal | None, Field(ge=0, description="Price in whole tokens.")] = None,
        for_client: _Text | None = None,
        policy: PolicyArgument = PolicyName.BALANCED.value,
        reviewers: Annotated[_Reviewers, Field(description="Only their ratings count.")] = [],  # noqa: B006  # nobody changes it
        at_block: Annotated[_Number, Field(description="As in an answer to repeat.")] = None,
        history: History = None,
        files: _Number = None,
        analysis: _Number = None,
        findings: bool = True,
    ) -> Judged:
        """Answer "should I pay this server?": accept, caution or decline, with reasons."""

        def read(connection: Connection) -> Check:
            if pay_to is None and payment_chain is not None:
                raise InvalidArgumentError("payment_chain is of a payment: give pay_to too")
            return check_server(
                connection,
                agent_id,
                payment=None if pay_to is None else Payment(pay_to, payment_chain),
                amount=amount,
                for_client=for_client,
                files=files,
                **_options(policy, reviewers, at_block, history, analysis, with_findings=findings),
            )

        with tool_errors():
            return judged(await to_thread.run_sync(reader.read, read))

    @server.tool(name="check_client", title="Check client", annotations=READS)
    async def check_client_(  # noqa: PLR0913, PLR0917  # one a part of the question
        client: Annotated[_Text, Field(description="0x… or 8453:247.")],
        for_server: _Text | None = None,
        chain: Annotated[int | None, Field(ge=1, lt=2**63, description="Of an account.")] = None,
        policy: str | dict[str, Any] = PolicyName.BALANCED.value,
        reviewers: _Reviewers = [],  # noqa: B006  # nobody changes it
        at_block: _Number = None,
        history: History = None,
        payments: _Number = None,
        analysis: _Number = None,
        findings: bool = True,
    ) -> Judged:
        """Answer "should I serve this client?": accept, caution or decline. Policies as of check_server."""

        def read(connection: Connection) -> Check:
            return check_client(
                connection,
                client,
                for_server=for_server,
                chain_id=chain,
                buyers=stored_buyers,
                payments=payments,
                **_options(policy, reviewers, at_block, history, analysis, with_findings=findings),
            )

        with tool_errors():
            return judged(await to_thread.run_sync(reader.read, read))


def _options(  # noqa: PLR0913  # one a part of the question
    policy: str | dict[str, Any],
    reviewers: list[str],
    at_block: int | None,
    history: str | None,
    analysis: int | None,
    *,
    with_findings: bool,
) -> dict[str, Any]:
    """Return the options that both checks have.

    Raises:
        InvalidArgumentError: The policy is invalid, or its tag is not a text that databases hold.
    """
    accounts = [reviewer for reviewer in reviewers if is_account(reviewer)]
    agents = [reviewer for reviewer in reviewers if not is_account(reviewer)]
    chosen = policy_of(with_reviewers(policy, accounts, agents))
    require_storable(chosen.tag)
    return {
        "policy": chosen,
        "at_block": at_block,
        "history": None if history is None else bytes.fromhex(history[2:]),
        "analysis": analysis,
        "findings": stored_findings if with_findings else None,
    }

"""Tools that answer a question before money moves: should I pay this server, should I serve this client?"""

from functools import partial
from typing import Annotated, Any, Final

from anyio import to_thread
from mcp.server import MCPServer
from pydantic import Field

from bilateral.api.mcp.lookups import READS, Judged, asks, brief, judged, tool_errors
from bilateral.api.parameters import require_storable
from bilateral.api.stored_buyers import stored_buyers
from bilateral.checks import PolicyName
from bilateral.checks.policy import is_account, policy_of, with_reviewers
from bilateral.checks.questions import OfClient, OfServer, Snapshot, Text
from bilateral.index.reading.readers import Reader

PolicyArgument = Annotated[
    str | dict[str, Any],
    Field(description="balanced, strict, own-list (needs `reviewers`), or an object: see bilateral://policy."),
]
Reviewers = Annotated[list[Text], Field(max_length=1_000)]


class _AboutServer(Snapshot, OfServer):
    """A question about a server, without the block options."""


class _AboutClient(Snapshot, OfClient):
    """A question about a client, without the block options."""


_SERVER: Final = brief(
    _AboutServer,
    {
        "agent_id": "Such as 8453:247.",
        "pay_to": "Payee.",
        "amount": "Price in whole tokens.",
        "at_block": "From a result to repeat.",
    },
)
_CLIENT: Final = brief(_AboutClient, {"client": "0x… or 8453:247.", "chain": "Of the account."})


def add_tools(server: MCPServer[Any], reader: Reader) -> None:
    """Add the tools to a server."""

    @server.tool(name="check_server", title="Check server", annotations=READS)
    @asks(_SERVER)
    async def check_server_(
        question: Any,
        policy: PolicyArgument = PolicyName.BALANCED.value,
        reviewers: Annotated[Reviewers, Field(description="Only their ratings count.")] = [],  # noqa: B006  # nobody changes it
    ) -> Judged:
        """Answer "should I pay this server?": accept, caution or decline, with reasons."""
        with tool_errors():
            return await _judged(reader, question, policy, reviewers)

    @server.tool(name="check_client", title="Check client", annotations=READS)
    @asks(_CLIENT)
    async def check_client_(
        question: Any,
        policy: str | dict[str, Any] = PolicyName.BALANCED.value,
        reviewers: Reviewers = [],  # noqa: B006  # nobody changes it
    ) -> Judged:
        """Answer "should I serve this client?": accept, caution or decline. Policies as in check_server."""
        with tool_errors():
            return await _judged(reader, question, policy, reviewers, buyers=stored_buyers)


async def _judged(
    reader: Reader, question: Any, policy: str | dict[str, Any], reviewers: list[str], **options: Any
) -> Judged:
    accounts = [reviewer for reviewer in reviewers if is_account(reviewer)]
    agents = [reviewer for reviewer in reviewers if not is_account(reviewer)]
    chosen = policy_of(with_reviewers(policy, accounts, agents))
    require_storable(chosen.tag)
    check = partial(reader.read, question.check, policy=chosen, **question.snapshot_options(), **options)
    return judged(await to_thread.run_sync(check))

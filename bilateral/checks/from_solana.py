"""Check a server on Solana using only nodes, without an index."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bilateral.checks.facts import AgentFacts, Facts, Payment, Source, Unknown
from bilateral.checks.judge import LiveCheck, live_check
from bilateral.checks.live_files import load_registration
from bilateral.checks.policy import Policy
from bilateral.checks.verdicts import AsOf, Code
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.errors.solana import AgentRefusedError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.core.values.standing import Side
from bilateral.documents import Loader
from bilateral.node.running import StepRunner
from bilateral.node.transport import Transport
from bilateral.solana.addresses import SATI
from bilateral.solana.nodes import SolanaNode
from bilateral.solana.registries import agent_registries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bilateral.client import Client

_RATINGS = "ratings and validations: on Solana they are stored in events and compressed accounts, which are not read"
_PAST = "the age of the agent, and earlier owners and wallets: Solana nodes do not keep past states"
_ANALYSIS = "findings from the trust analysis: only an index has them"

_DECLINED: Final = {"authority_mismatch": Code.AUTHORITY_MISMATCH, "malformed_wallet": Code.NO_WALLET}
"""The errors that decide a check because they are facts about the agent. All other errors are raised."""


def check_solana_server(  # noqa: PLR0913  # the agent, its node, and what to compare
    agent_id: str,
    provider: str,
    *,
    pay_to: str | None = None,
    policy: Policy | None = None,
    loader: Loader | None = None,
    clients: Mapping[str, Client] | None = None,
    request_timeout: float = 30.0,
) -> LiveCheck:
    """Answer the question: should I pay this server on Solana?

    Args:
        agent_id: The server: `solana:<ref>:<mint>` for a SATI agent, `solana:<ref>:<program>#<agent>` for any agent.
        provider: The URL of a node.
        pay_to: The account that would be paid; None to skip the related rules.
        policy: The policy; if omitted, the default policy.
        loader: Loads registration files.
        clients: SDK clients for EVM chains, by chain (CAIP-2), used to prove registrations on those chains.
        request_timeout: The timeout in seconds for one request to the node.

    Raises:
        MalformedIdentifierError: The agent is malformed.
        InvalidArgumentError: The package's address book has no registry on the chain.
        SolanaError: The agent does not exist or cannot be checked.
        BilateralError: The node cannot be reached, or returns an error.
    """
    agent = parse_solana_agent(agent_id)
    policy, chain = policy or Policy(), agent.registry.chain
    registries = agent_registries(chain)
    if agent.registry.address not in registries:
        raise MalformedIdentifierError("an agent on Solana", agent_id, "the registry is not in the address book")
    facts = Facts(
        source=Source.FOREIGN_NODE,
        side=Side.SERVER,
        as_of=AsOf(str(chain), None),
        name=str(agent),
        payment=None if pay_to is None else Payment(pay_to),
        domains=Unknown(_RATINGS),
        approvals=Unknown(_PAST),
        ratings=Unknown("No rating counts, because ratings on Solana are not read."),
        findings=Unknown(_ANALYSIS),
        validations=Unknown(_RATINGS),
        unknown=(_RATINGS, _PAST, _ANALYSIS),
    )
    try:
        with closing(Transport(provider, request_timeout)) as transport:
            read = StepRunner(transport).run(registries[agent.registry.address](SolanaNode(chain), agent.agent))
    except AgentRefusedError as error:
        if error.code not in _DECLINED:
            raise
        return live_check(replace(facts, refusal=(_DECLINED[error.code], f"{error}.")), policy)
    account = read.wallet or None
    facts = replace(
        facts,
        as_of=AsOf(str(chain), read.slot),
        account=account,
        agent=AgentFacts(read.holder, account, Unknown(_PAST), read.wallet_source != "metadata"),
        registration=load_registration(agent, read.uri, loader or Loader(), clients or {}),
        details={"holder": read.holder, "wallet_source": read.wallet_source},
    )
    return live_check(facts, policy)


def parse_solana_agent(agent_id: str) -> GlobalAgentId:
    """Parse the id of an agent on Solana, in either format. An id without a registry denotes a SATI agent."""
    if "#" in agent_id:
        agent = GlobalAgentId.parse(agent_id)
    else:
        account = AccountId.parse(agent_id)
        if account.chain.is_evm:
            raise MalformedIdentifierError("an agent on Solana", agent_id, f"{account.chain} is not a Solana chain")
        agent = GlobalAgentId(AccountId(account.chain, SATI), account.address)
    if agent.registry.chain.is_evm:
        raise MalformedIdentifierError("an agent on Solana", agent_id, f"{agent.registry.chain} is not a Solana chain")
    return agent

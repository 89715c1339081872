"""The identity registry in plain Python: its answers after any sequence of calls.

The model follows the specifications, not the contracts, and is as simple as possible. It derives primary agents from
their definition: an account that is neither owner nor wallet of its primary agent loses it. The contracts reach the
same result because they clear single entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ape.utils import ZERO_ADDRESS
from eth_utils import to_canonical_address

from tests.calls import Refused, answer, require

WALLET_KEY = "agentWallet"


@dataclass
class Agent:
    """The data of one agent. The zero address means "no account"."""

    owner: str
    wallet: str
    uri: str = ""
    domain: str = ""
    approved: str = ZERO_ADDRESS
    metadata: dict[str, bytes] = field(default_factory=dict)

    @property
    def address(self):
        return self.owner if self.wallet == ZERO_ADDRESS else self.wallet


@dataclass
class IdentityModel:
    """All agents, operators and primary agents. Each method models a function; the caller is its first argument."""

    agents: dict[int, Agent] = field(default_factory=dict)
    operators: set[tuple[str, str]] = field(default_factory=set)
    primary: dict[str, int] = field(default_factory=dict)

    # Registration

    def register(self, caller, uri="", entries=()):
        require(all(key != WALLET_KEY for key, _ in entries), "reserved key")
        agent_id = len(self.agents) + 1
        self.agents[agent_id] = Agent(caller, caller, uri, metadata=dict(entries))
        self.primary.setdefault(caller, agent_id)
        return agent_id

    def new_agent(self, caller, domain, address):
        require(caller == address, "UnauthorizedRegistration()")
        require(domain, "InvalidDomain()")
        require(address != ZERO_ADDRESS, "InvalidAddress()")
        require(self.holder(domain) is None, "DomainAlreadyRegistered()")
        require(not self.has_agent(address), "AddressAlreadyRegistered()")
        agent_id = self.register(caller)
        self.agents[agent_id].domain = domain
        return agent_id

    def update_agent(self, caller, agent_id, domain, address):
        require(agent_id in self.agents, "AgentNotFound()")
        agent = self.agents[agent_id]
        require(caller == agent.owner, "UnauthorizedUpdate()")
        holder = self.agents.get(self.holder(domain))
        require(not holder or holder.owner == caller, "DomainAlreadyRegistered()")
        require(not self.owns_agent(address), "AddressAlreadyRegistered()")
        require(self.primary.get(address, agent_id) == agent_id, "AddressAlreadyRegistered()")
        if domain:
            if holder:
                holder.domain = ""
            agent.domain = domain
        if address != ZERO_ADDRESS:
            self.hand_over(agent_id, address)
        return True

    def release_agent_domain(self, caller, agent_id):
        require(agent_id in self.agents, "AgentNotFound()")
        require(caller == self.agents[agent_id].owner, "UnauthorizedUpdate()")
        self.agents[agent_id].domain = ""

    # The token

    def transfer(self, caller, sender, receiver, agent_id, _data=b""):
        require(receiver != ZERO_ADDRESS, "ERC721InvalidReceiver(address)", ZERO_ADDRESS)
        agent = self.existing(agent_id)
        require(self.may_act(caller, agent_id), "ERC721InsufficientApproval(address,uint256)", caller, agent_id)
        require(sender == agent.owner, "ERC721IncorrectOwner(address,uint256,address)", sender, agent_id, agent.owner)
        self.hand_over(agent_id, receiver)

    def approve(self, caller, account, agent_id):
        agent = self.existing(agent_id)
        permitted = caller == agent.owner or (agent.owner, caller) in self.operators
        require(permitted, "ERC721InvalidApprover(address)", caller)
        agent.approved = account

    def set_approval_for_all(self, caller, operator, is_approved):
        require(operator != ZERO_ADDRESS, "ERC721InvalidOperator(address)", ZERO_ADDRESS)
        (self.operators.add if is_approved else self.operators.discard)((caller, operator))

    # Data of an agent

    def set_uri(self, caller, agent_id, uri):
        self.authorised(caller, agent_id).uri = uri

    def set_metadata(self, caller, agent_id, key, value):
        agent = self.authorised(caller, agent_id)
        require(key != WALLET_KEY, "reserved key")
        agent.metadata[key] = value

    def set_wallet(self, caller, agent_id, wallet, delay, is_signed):
        """`delay`: seconds until the deadline; `is_signed`: True if the wallet signed exactly these values."""
        agent = self.authorised(caller, agent_id)
        require(wallet != ZERO_ADDRESS, "bad wallet")
        require(delay >= 0, "expired")
        require(delay <= 300, "deadline too far")
        require(is_signed, "invalid wallet sig")
        agent.wallet = wallet
        self.forget_former_speakers()
        self.primary.setdefault(wallet, agent_id)

    def unset_wallet(self, caller, agent_id):
        self.authorised(caller, agent_id).wallet = ZERO_ADDRESS
        self.forget_former_speakers()

    def set_primary(self, caller, agent_id):
        agent = self.existing(agent_id)
        permitted = caller in (agent.owner, agent.wallet)
        require(permitted, "NotOwnerOrWallet(address,uint256)", caller, agent_id)
        self.primary[caller] = agent_id

    # Views

    def answers(self, accounts, domains, keys):
        """Return the answers to all questions about these accounts, domains and metadata keys.

        Returns:
            The encoded answer or the revert, by question. A question is a view's signature and its arguments.
        """
        answers = {
            ("getAgentCount()",): answer("uint256", len(self.agents)),
            ("balanceOf(address)", ZERO_ADDRESS): Refused("ERC721InvalidOwner(address)", ZERO_ADDRESS),
        }
        for account in accounts:
            primary = self.primary.get(account, 0)
            balance = sum(agent.owner == account for agent in self.agents.values())
            answers["agentOf(address)", account] = answer("uint256", primary)
            answers["balanceOf(address)", account] = answer("uint256", balance)
            answers["resolveByAddress(address)", account] = self.described(primary)
            for operator in accounts:
                is_approved = (account, operator) in self.operators
                answers["isApprovedForAll(address,address)", account, operator] = answer("bool", is_approved)
        for domain in domains:
            answers["resolveByDomain(string)", domain] = self.described(self.holder(domain))
        for agent_id in range(len(self.agents) + 2):
            answers |= self.answers_about(agent_id, accounts, keys)
        return answers

    def answers_about(self, agent_id, accounts, keys):
        agent = self.agents.get(agent_id) or Agent(ZERO_ADDRESS, ZERO_ADDRESS)
        values = {key: agent.metadata.get(key, b"") for key in keys}
        values[WALLET_KEY] = b"" if agent.wallet == ZERO_ADDRESS else to_canonical_address(agent.wallet)
        answers = {("getMetadata(uint256,string)", agent_id, key): answer("bytes", values[key]) for key in values}
        answers["getAgentWallet(uint256)", agent_id] = answer("address", agent.wallet)
        answers["agentExists(uint256)", agent_id] = answer("bool", agent_id in self.agents)
        answers["getAgent(uint256)", agent_id] = self.described(agent_id)
        for account in accounts:
            resolved = answer("uint256,bool", self.primary.get(account, 0), agent_id in self.agents)
            answers["resolveRating(address,uint256)", account, agent_id] = resolved
        token = {
            ("ownerOf(uint256)", agent_id): answer("address", agent.owner),
            ("tokenURI(uint256)", agent_id): answer("string", agent.uri),
            ("getApproved(uint256)", agent_id): answer("address", agent.approved),
        }
        for account in accounts:
            may_act = agent_id in self.agents and self.may_act(account, agent_id)
            token["isAuthorizedOrOwner(address,uint256)", account, agent_id] = answer("bool", may_act)
        if agent_id not in self.agents:
            token = dict.fromkeys(token, Refused("ERC721NonexistentToken(uint256)", agent_id))
        return answers | token

    def described(self, agent_id):
        agent = self.agents.get(agent_id)
        if agent is None:
            return Refused("AgentNotFound()")
        return answer("(uint256,string,address)", (agent_id, agent.domain, agent.address))

    # Definitions

    def existing(self, agent_id):
        require(agent_id in self.agents, "ERC721NonexistentToken(uint256)", agent_id)
        return self.agents[agent_id]

    def authorised(self, caller, agent_id):
        agent = self.existing(agent_id)
        require(self.may_act(caller, agent_id), "Not authorized")
        return agent

    def role(self, account, agent_id):
        """Return the role in which an account may act for an agent, or None if it may not."""
        agent = self.agents[agent_id]
        if account == agent.owner:
            return "owner"
        if (agent.owner, account) in self.operators:
            return "operator"
        return "approved" if account == agent.approved else None

    def may_act(self, account, agent_id):
        return self.role(account, agent_id) is not None

    def has_agent(self, account):
        return account in self.primary or self.owns_agent(account)

    def owns_agent(self, account):
        return any(agent.owner == account for agent in self.agents.values())

    def holder(self, domain):
        """Return the agent that holds a domain, or None if the domain is free."""
        for agent_id, agent in self.agents.items():
            if domain and agent.domain.lower() == domain.lower():
                return agent_id
        return None

    def hand_over(self, agent_id, receiver):
        agent = self.agents[agent_id]
        agent.owner, agent.wallet, agent.approved = receiver, ZERO_ADDRESS, ZERO_ADDRESS
        self.forget_former_speakers()

    def forget_former_speakers(self):
        self.primary = {
            account: agent_id
            for account, agent_id in self.primary.items()
            if account in (self.agents[agent_id].owner, self.agents[agent_id].wallet)
        }

"""The companion of a token, and ratings on top of it, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field

from ape.utils import ZERO_ADDRESS
from eth_utils import to_canonical_address

from tests.calls import Refused, answer, require


@dataclass
class CompanionModel:
    """Agents with owners and wallets, chosen agents, the count, and ratings of clients."""

    owners: dict[int, str] = field(default_factory=dict)
    wallets: dict[int, str] = field(default_factory=dict)
    chosen: dict[str, int] = field(default_factory=dict)
    count: int = 0
    ratings: dict[tuple[int, int], int] = field(default_factory=dict)

    # The token. Only valid calls are made, because the project does not promise how it reverts.

    def mint(self, caller, agent_id):
        self.owners[agent_id] = caller

    def burn(self, _caller, agent_id):
        del self.owners[agent_id]

    def transfer(self, _caller, _sender, receiver, agent_id):
        self.owners[agent_id] = receiver

    def set_wallet(self, _caller, agent_id, wallet):
        self.wallets[agent_id] = wallet

    # The companion

    def set_primary(self, caller, agent_id):
        require(agent_id != 0, "NobodySpeaksAsAgentZero(address)", to_canonical_address(caller))
        self.require_agent(agent_id)
        entitled = (self.owners[agent_id], self.wallets.get(agent_id))
        require(caller in entitled, "NotOwnerOrWallet(address,uint256)", to_canonical_address(caller), agent_id)
        self.chosen[caller] = agent_id

    def prove(self, _caller, agent_id):
        if agent_id > self.count:
            self.require_agent(agent_id)
            self.count = agent_id

    def agent_of(self, account):
        agent_id = self.chosen.get(account, 0)
        if agent_id not in self.owners or account not in (self.owners[agent_id], self.wallets.get(agent_id)):
            return 0
        return agent_id

    def require_agent(self, agent_id):
        require(agent_id in self.owners, "ERC721NonexistentToken(uint256)", agent_id)

    # Ratings

    def rate(self, caller, client_id, rating):
        server_id = self.agent_of(caller)
        require(server_id, "RaterNotRegistered(address)", to_canonical_address(caller))
        self.put(server_id, client_id, rating, client_id in self.owners)

    def rate_all(self, caller, client_ids, ratings):
        server_id, kept = self.agent_of(caller), dict(self.ratings)
        require(server_id, "RaterNotRegistered(address)", to_canonical_address(caller))
        for position, (client_id, rating) in enumerate(zip(client_ids, ratings, strict=True)):
            try:
                self.put(server_id, client_id, rating, 0 < client_id <= self.count)
            except Refused as refusal:
                self.ratings = kept
                raise Refused("RatingRefused(uint256,bytes)", position, refusal.data) from refusal

    def put(self, server_id, client_id, rating, exists):
        require(exists, "SubjectNotRegistered(uint256)", client_id)
        require(client_id != server_id, "CannotRateSelf()")
        require((server_id, client_id) not in self.ratings, "AlreadyRated(uint256,uint256)", client_id, server_id)
        self.ratings[server_id, client_id] = rating

    # Answers

    def companion_answers(self, everybody, agent_ids):
        """Return the questions to the companion, and the answer or the refusal of each."""
        answers = {("getAgentCount()",): answer("uint256", self.count)}
        for account in everybody:
            agent_id = self.agent_of(account)
            answers["agentOf(address)", account] = answer("uint256", agent_id)
            for subject in agent_ids:
                resolved = answer("uint256,bool", agent_id, subject in self.owners)
                answers["resolveRating(address,uint256)", account, subject] = resolved
        for agent_id in agent_ids:
            exists = agent_id in self.owners
            refusal = Refused("ERC721NonexistentToken(uint256)", agent_id)
            owner = answer("address", self.owners[agent_id]) if exists else refusal
            wallet = answer("address", self.wallets.get(agent_id, ZERO_ADDRESS)) if exists else refusal
            answers["ownerOf(uint256)", agent_id] = owner
            answers["getAgentWallet(uint256)", agent_id] = wallet
            answers["agentExists(uint256)", agent_id] = answer("bool", exists)
        return answers

    def rating_answers(self, agent_ids):
        """Return the questions to the registry of ratings, and the answer of each."""
        return {
            ("getClientRating(uint256,uint256)", client_id, server_id): answer(
                "bool,uint8", (server_id, client_id) in self.ratings, self.ratings.get((server_id, client_id), 0)
            )
            for client_id in agent_ids
            for server_id in agent_ids
        }

"""A plain model of searches: it reads every event and file into Python, and filters them one by one."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

from sqlalchemy import text

from bilateral.core.values.bounds import lower_bound, scale_of_tag
from bilateral.index.log.columns import python_integer
from bilateral.index.search.filters import Order, Payment
from tests.index.model import share_of

ASCII_WORD = re.compile("[a-z0-9]+")
CAPABILITIES = {
    "MCP": {"mcpTools": "mcp_tool", "mcpPrompts": "mcp_prompt"},
    "A2A": {"a2aSkills": "a2a_skill"},
    "OASF": {"skills": "oasf_skill", "domains": "oasf_domain"},
    "web": {},
}


def words(*texts):
    return {word for text in texts for word in ASCII_WORD.findall((text or "").lower())}


@dataclass
class ModelAgent:
    """An agent with its file, as its author wrote it."""

    key: tuple
    owner: str
    wallet: str | None
    registered_at: int
    updated_at: int
    last_activity: int
    file: dict | None
    metadata: dict = field(default_factory=dict)

    @property
    def name_words(self):
        return words(self.file["name"]) if self.file else set()

    @property
    def capabilities(self):
        capabilities = {("trust", entry) for entry in self.file["supportedTrust"]} if self.file else set()
        for service in self.file["services"] if self.file else ():
            for name, kind in CAPABILITIES[service["name"]].items():
                capabilities |= {(kind, entry) for entry in service.get(name, ())}
        return capabilities

    @property
    def services(self):
        return {service["name"].lower() for service in self.file["services"]} if self.file else set()

    @property
    def words(self):
        if not self.file:
            return set()
        capabilities = [value for _, value in self.capabilities]
        return words(self.file["name"], self.file["description"], *self.services, *capabilities)


@dataclass
class Given:
    """A rating that counts: of an agent, by an account, under a tag."""

    agent: tuple
    registry: str
    side: str
    tag: str
    account: str
    value: Fraction
    payment: dict | None = None


def parts(word):
    padded = f"  {word} "
    return {padded[at : at + 3] for at in range(len(word) + 1)}


class Oracle:
    """The agents and ratings of a database.

    Args:
        engine: The database. Only its tables of events, its agents and its stored files are read.
    """

    def __init__(self, engine):
        with engine.connect() as connection:
            self._rows = lambda query: connection.execute(text(query)).mappings().all()
            contents = {
                row["content_hash"]: json.loads(row["content"]) for row in self._rows("SELECT * FROM file_content")
            }
            self.identity = {row["address"]: row["identity_registry"] for row in self._rows("SELECT * FROM registry")}
            named = defaultdict(dict)
            for row in self._rows(
                "SELECT r.*, f.uri, f.content_hash FROM file_reference r JOIN file f ON f.file_id = r.file_id"
                " WHERE f.state = 'loaded' ORDER BY r.block_number, r.log_index"
            ):
                named[row["kind"]][row["block_number"], row["log_index"]] = row
            self._read_agents(named["registration"], contents)
            self._read_ratings(named["feedback"], contents)
        self.standings = {}
        self.summaries = defaultdict(list)
        for entry in self.given:
            self.summaries[entry.agent, entry.registry, entry.side, entry.tag].append(entry)
        self.vocabulary = set().union(*(agent.name_words for agent in self.agents.values()))

    def _read_agents(self, named, contents):
        files = {
            (row["chain_id"], row["registry"], python_integer(row["agent_id"]), row["uri"]): contents[
                row["content_hash"]
            ]
            for row in named.values()
        }
        rated = {}
        for row in self._rows("SELECT * FROM new_feedback"):
            key = (row["chain_id"], self.identity[row["registry"]], python_integer(row["agent_id"]))
            rated[key] = max(row["block_time"], rated.get(key, 0))
        self.agents = {}
        for row in self._rows("SELECT * FROM agent"):
            key = (row["chain_id"], row["identity_registry"], python_integer(row["agent_id"]))
            file = files.get((*key, row["uri"]))
            active = max(rated.get(key, 0), row["registered_at"])
            times = (row["registered_at"], row["updated_at"], active)
            self.agents[key] = ModelAgent(key, row["owner"], row["wallet"], *times, file)
        for row in self._rows("SELECT * FROM agent_metadata"):
            key = (row["chain_id"], row["identity_registry"], python_integer(row["agent_id"]))
            self.agents[key].metadata[row["metadata_key"]] = bytes(row["metadata_value"])

    def _read_ratings(self, named, contents):
        revoked = {
            (
                row["registry"],
                python_integer(row["agent_id"]),
                row["client_address"],
                python_integer(row["feedback_index"]),
            )
            for row in self._rows("SELECT * FROM feedback_revoked")
        }
        self.given = []
        for row in self._rows("SELECT * FROM new_feedback"):
            key = (row["registry"], python_integer(row["agent_id"]), row["client_address"])
            if (*key, python_integer(row["feedback_index"])) in revoked:
                continue
            value = Fraction(python_integer(row["value"]), 10 ** row["value_decimals"])
            file = named.get((row["block_number"], row["log_index"]))
            proof = contents[file["content_hash"]].get("proofOfPayment") if file else None
            self._give(row, row["agent_id"], "server", row["tag1"], row["client_address"], value, proof)
        for row in self._rows("SELECT * FROM new_authorized_feedback"):
            tag = bytes(row["tag1"]).rstrip(b"\0").decode()
            self._give(row, row["agent_id"], "server", tag, row["client_address"], Fraction(row["score"]))
        for side in ("client", "validator"):
            for row in self._rows(f"SELECT * FROM {side}_rated"):  # noqa: S608  # our own names
                rater = f"agent {python_integer(row['server_id'])}"
                self._give(row, row[f"{side}_id"], side, "", rater, Fraction(row["rating"]))

    def _give(self, row, agent_id, side, tag, account, value, payment=None):
        agent = (row["chain_id"], self.identity[row["registry"]], python_integer(agent_id))
        self.given.append(Given(agent, row["registry"], side, tag, account, value, payment))

    def search(self, search):
        """Return the keys of the agents that a search finds, in its order."""
        terms = self._terms(search.words)
        if terms is None:
            return []
        passed = [self._passed(gate, search.ranking) for gate in search.gates]
        matches = []
        for key, agent in self.agents.items():
            if self._matches(agent, search, terms) and all(key in entry for entry in passed):
                ranks = self._ranks(agent, search, terms, passed[0][key] if passed else 0.0)
                matches.append((*(-rank for rank in ranks), key))
        return [key for *_, key in sorted(matches)]

    def leaders(self, tag, side):
        """Return the keys of the agents with a lower bound under a tag, the best first."""
        best = {}
        for (agent, _, its_side, its_tag), entries in self.summaries.items():
            bound = self._figures(entries, tag)[3] if (its_side, its_tag) == (side, tag) else None
            if bound is not None and agent in self.agents:
                best[agent] = max(bound, best.get(agent, -1.0))
        return [agent for _, agent in sorted((-bound, agent) for agent, bound in best.items())]

    def _terms(self, wanted):
        terms = []
        for word in wanted:
            term = ({word}, len(word) >= 2)
            if not any(self._has(agent.words, term) for agent in self.agents.values()):
                similar = self._similar(word)
                if not similar:
                    return None
                term = (set(similar), False)
            terms.append(term)
        return terms

    def _similar(self, word):
        if not 4 <= len(word) <= 24:
            return []
        ranked = []
        for other in self.vocabulary:
            if 4 <= len(other) <= 24:
                similarity = Fraction(len(parts(word) & parts(other)), len(parts(word) | parts(other)))
                if similarity >= Fraction(3, 10):
                    ranked.append((-similarity, other))
        return [other for _, other in sorted(ranked)][:10]

    @staticmethod
    def _has(words, term):
        wanted, is_beginning = term
        return any(
            word_ in words or (is_beginning and any(word.startswith(word_) for word in words)) for word_ in wanted
        )

    def _matches(self, agent, search, terms):
        ranges = (
            (agent.registered_at, search.registered_from, search.registered_to),
            (agent.updated_at, search.updated_from, search.updated_to),
        )
        file = agent.file or {}
        return (
            (not search.chains or agent.key[0] in search.chains)
            and search.owner in (None, agent.owner)
            and (search.wallet is None or agent.wallet == search.wallet)
            and all(low is None or at >= low for at, low, _ in ranges)
            and all(high is None or at <= high for at, _, high in ranges)
            and (search.active is None or file.get("active") is search.active)
            and (search.x402 is None or file.get("x402Support") is search.x402)
            and all((kind.value, value) in agent.capabilities for kind, value in search.capabilities)
            and all(name.lower() in agent.services for name in search.services)
            and all(key in agent.metadata and value in (None, agent.metadata[key]) for key, value in search.metadata)
            and search.rated in (None, any(entry.agent == agent.key and entry.side == "server" for entry in self.given))
            and all(self._has(agent.words, term) for term in terms)
        )

    def _passed(self, gate, order):
        """Return the agents that pass a gate, with the rank of their best ratings."""
        passed = {}
        for (agent, _, side, tag), entries in self.summaries.items():
            if side != gate.side or gate.tag not in (None, tag):
                continue
            counted = [entry for entry in entries if self._counts(entry, gate)]
            if not counted:
                continue
            count, clients, mean, bound = self._figures(counted, tag)
            if (
                count >= gate.count
                and clients >= gate.clients
                and (gate.maximum_count is None or count <= gate.maximum_count)
                and (gate.minimum is None or mean >= gate.minimum)
                and (gate.maximum is None or mean <= gate.maximum)
                and (gate.lower_bound is None or (bound is not None and bound >= float(gate.lower_bound)))
            ):
                by_bound = -1.0 if bound is None else bound
                rank = {Order.MEAN: float(mean), Order.ACTIVITY: float(count)}.get(order, by_bound)
                passed[agent] = max(rank, passed.get(agent, rank))
        return passed

    def _counts(self, entry, gate):
        if gate.reviewers and entry.account not in gate.reviewers:
            return False
        if gate.payment is None:
            return True
        if entry.payment is None:
            return False
        agent, proof = self.agents[entry.agent], entry.payment
        payees = {agent.owner.lower(), (agent.wallet or "").lower()}
        is_matching = proof["fromAddress"].lower() == entry.account.lower() and proof["toAddress"].lower() in payees
        return gate.payment is Payment.CLAIMED or is_matching

    @staticmethod
    def _figures(entries, tag):
        scale = scale_of_tag(tag)
        shares = defaultdict(list)
        for entry in entries:
            shares[entry.account].append(0 if scale is None else share_of(entry.value, *scale))
        mean = sum(entry.value for entry in entries) / len(entries)
        share_sum = sum(sum(mine) // len(mine) for mine in shares.values())
        bound = None if scale is None else lower_bound(share_sum, len(shares), scale)
        return len(entries), len(shares), mean, bound

    def _ranks(self, agent, search, terms, by_gate):
        points = sum(self._has(agent.name_words, term) for term in terms)
        if search.ranking is Order.RELEVANCE:
            return points, by_gate
        if search.ranking is Order.STANDING:
            key = (search.rated_side, agent.key)
            rank, stands = self.standings.get(key), key in self.standings
            is_ranked = rank is not None
            return is_ranked or not stands, points, is_ranked, rank if is_ranked else 0.0
        if search.ranking is Order.UPDATED:
            return agent.updated_at, 0
        if search.ranking is Order.REGISTERED:
            return agent.registered_at, 0
        if search.ranking is Order.LAST_ACTIVE:
            return agent.last_activity, 0
        return by_gate, 0

"""A plain model of the index: it goes through the chain's logs one by one, and keeps everything in Python."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields
from fractions import Fraction
from hashlib import sha256
from itertools import groupby
from math import floor, sqrt

from sqlalchemy import select

from bilateral.core.contracts.logs import RawLog
from bilateral.core.events import (
    AgentRegistered,
    AgentUpdated,
    Approval,
    ClientRated,
    FeedbackRevoked,
    MetadataSet,
    NewAuthorizedFeedback,
    NewFeedback,
    PrimaryAgentSet,
    RatingsOpened,
    Registered,
    Transfer,
    UndecodedLog,
    URIUpdated,
    ValidatorRated,
)
from bilateral.core.events.agents import AgentStates
from bilateral.core.events.decoder import decode_logs
from bilateral.core.text import ChainText
from bilateral.core.values import STANDARD_TAGS
from bilateral.index.log import tables as schema
from bilateral.index.projections import DERIVED_TABLES
from bilateral.index.ratings import tables as rating_tables
from simulation.events import ADDRESSES

REGISTRIES = {address: registry for registry, address in ADDRESSES.items()}
IDENTITY_EVENTS = (AgentRegistered, AgentUpdated, MetadataSet, PrimaryAgentSet, Registered, Transfer, URIUpdated)


def stored_text(text):
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def key_of(text):
    text = stored_text(text)
    return text if len(text.encode()) <= 400 else f"{text[:64]}…{sha256(text.encode()).hexdigest()}"


class Model:
    """The rows that the tables should hold, by table.

    Args:
        chain_id: The chain.
        entries: Its logs, in the form of JSON-RPC, in their order.
    """

    def __init__(self, chain_id, entries):
        self.chain_id = chain_id
        self.times = {int(entry["blockNumber"], 16): int(entry["blockTimestamp"], 16) for entry in entries}
        logs = [RawLog.from_json(entry) for entry in entries]
        events = list(zip(logs, decode_logs(REGISTRIES, logs), strict=True))
        self.tables = {table.name: [] for table in (*schema.EVENT_TABLES.values(), schema.undecodable_log)}
        for log, event in events:
            self._event_row(log, event)
        decoded = [event for _, event in events if not isinstance(event, UndecodedLog)]
        self._agents([entry for entry in decoded if isinstance(entry, IDENTITY_EVENTS)])
        self._summaries(decoded)
        self._activity(decoded)
        self.tables = {name: sorted(map(repr, rows)) for name, rows in self.tables.items()}

    def _event_row(self, log, event):
        place = log.position
        row = (
            *(self.chain_id, place.block_number, place.log_index, bytes.fromhex(place.block_hash[2:])),
            *(self.times[place.block_number], bytes.fromhex(place.transaction_hash[2:]), place.address),
        )
        if isinstance(event, UndecodedLog):
            self.tables["undecodable_log"].append((*row, b"".join(log.topics), log.data, event.problem))
            return
        values = [getattr(event, field.name) for field in fields(event)[1:]]
        texts = [value for value in values if isinstance(value, ChainText)]
        kept = None if all(text.raw == stored_text(text).encode() for text in texts) else log.data
        values = [stored_text(value) if isinstance(value, ChainText) else value for value in values]
        self.tables[schema.EVENT_TABLES[type(event)].name].append((*row, *values, *([kept] if texts else [])))

    def _agents(self, events):
        states, agents, metadata = defaultdict(AgentStates), {}, {}
        for number, in_block in groupby(events, key=lambda event: event.position.block_number):
            by_registry = defaultdict(list)
            for event in in_block:
                by_registry[event.position.address].append(event)
            for registry, changes in by_registry.items():
                for _, in_transaction in groupby(changes, key=lambda change: change.position.transaction_hash):
                    states[registry].apply(list(in_transaction))
                for event in changes:
                    if isinstance(event, MetadataSet) and event.metadata_key != "agentWallet":
                        metadata[registry, event.agent_id, key_of(event.metadata_key)] = event.metadata_value
                for agent in {change.agent_id for change in changes if not isinstance(change, PrimaryAgentSet)}:
                    mine = [
                        change
                        for change in changes
                        if change.agent_id == agent and not isinstance(change, PrimaryAgentSet)
                    ]
                    self._change_agent(agents, states[registry], (registry, agent), number, mine)
        self.agents = agents
        self.tables["agent"] = [(self.chain_id, *key, *row) for key, row in agents.items()]
        self.tables["agent_metadata"] = [(self.chain_id, *key, value) for key, value in metadata.items()]
        self.tables["primary_agent"] = [
            (self.chain_id, registry, account, agent)
            for registry, state in states.items()
            for account, agent in state.primary_agents.items()
        ]

    def _change_agent(self, agents, state, key, number, events):
        owner, time = state.owners.get(key[1]), self.times[number]
        if owner is None:
            agents.pop(key, None)
            return
        _, _, uri, domain, *registered = agents.get(key, (None, None, "", "", number, time, None, None))
        for event in events:
            if isinstance(event, Registered | URIUpdated):
                uri = stored_text(event.agent_uri if isinstance(event, Registered) else event.new_uri)
            if isinstance(event, AgentRegistered | AgentUpdated):
                domain = stored_text(event.agent_domain)
        agents[key] = (owner, state.wallets.get(key[1]), uri, domain, *registered[:2], number, time)

    def _activity(self, events):
        feedback, others = defaultdict(int), defaultdict(int)
        for event in events:
            time = self.times[event.position.block_number]
            if isinstance(event, NewFeedback):
                feedback[event.agent_id] = max(feedback[event.agent_id], time)
            elif isinstance(event, FeedbackRevoked | Approval):
                others[event.agent_id] = max(others[event.agent_id], time)
        self.tables["agent_activity"] = [
            (
                *(self.chain_id, registry, agent, str(agent), row[5]),
                max(row[7], feedback[agent], others[agent]),
                max(row[5], feedback[agent]),
            )
            for (registry, agent), row in self.agents.items()
        ]

    def _summaries(self, events):
        entries_of, live = {}, defaultdict(list)
        opened = {self._place(event): event for event in events if isinstance(event, RatingsOpened)}
        for event in events:
            feedback = self._feedback_key(event)
            if isinstance(event, FeedbackRevoked):
                for subject, entry in entries_of.pop(feedback, []):
                    live[subject].remove(entry)
                continue
            entries = self._entries(event, opened)
            for subject, entry in entries:
                live[subject].append(entry)
            if isinstance(event, NewFeedback) and entries:
                entries_of[feedback] = entries
        self._all_summaries(live)

    def _all_summaries(self, live):
        self.tables["summary"], self.tables["counterpart"] = [], []
        for subject, entries in live.items():
            if entries:
                self._summary((self.chain_id, *subject), entries)

    def _feedback_key(self, event):
        names = ("agent_id", "client_address", "feedback_index")
        return event.position.address, *(getattr(event, name, None) for name in names)

    def _entries(self, event, opened):
        """Return what an event adds: each summary with the account and the value."""
        place = event.position.address
        if isinstance(event, NewFeedback) and event.value_decimals <= 18:
            entry = event.client_address, Fraction(event.value, 10**event.value_decimals)
            sides = ["server", "b-server"] if self._is_blind_feedback(event, opened) else ["server"]
            return [((place, event.agent_id, side, key_of(event.tag1)), entry) for side in sides]
        if isinstance(event, NewAuthorizedFeedback):
            tag = stored_text(event.tag1.rstrip(b"\0").decode(errors="replace"))
            return [((place, event.agent_id, "server", tag), (event.client_address, Fraction(event.score)))]
        if isinstance(event, ClientRated):
            sides = ["client", "b-client"] if self._is_blind_rating(event, opened) else ["client"]
            entry = f"agent {event.server_id}", Fraction(event.rating)
            return [((place, event.client_id, side, ""), entry) for side in sides]
        if isinstance(event, ValidatorRated):
            entry = f"agent {event.server_id}", Fraction(event.rating)
            return [((place, event.validator_id, "validator", ""), entry)]
        return []

    def _place(self, event, distance=0):
        return event.position.block_number, event.position.log_index + distance

    def _is_blind_feedback(self, event, opened):
        """Look for an opening right after the feedback, of the same registry, that names it."""
        opening = opened.get(self._place(event, 1))
        return opening is not None and (
            (opening.position.address, opening.server_id, opening.client, opening.feedback_index)
            == (event.position.address, event.agent_id, event.client_address, event.feedback_index)
        )

    def _is_blind_rating(self, event, opened):
        """Look for an opening of the same pair, after the rating or after the feedback behind it."""
        openings = [opened.get(self._place(event, distance)) for distance in (1, 2)]
        return any(
            (opening.position.address, opening.client_id, opening.server_id)
            == (event.position.address, event.client_id, event.server_id)
            for opening in openings
            if opening is not None
        )

    def _summary(self, subject, entries):
        scale = scale_of(subject[-1])
        shares, units = defaultdict(list), defaultdict(int)
        for account, value in entries:
            units[account] += max(-(10**18), min(10**18, floor(value * 10**6)))
            shares[account].append(0 if scale is None else share_of(value, *scale))
        self.tables["counterpart"] += [
            (*subject, value, len(mine), sum(mine), units[value]) for value, mine in shares.items()
        ]
        total = sum(value for _, value in entries)
        share_sum = sum(sum(mine) // len(mine) for mine in shares.values())
        bound = None if scale is None else wilson(Fraction(share_sum, 10**6), len(shares), *scale)
        mean = float(total / len(entries))
        value_sum = int(total * 10**18)
        row = (*subject, len(entries), len(shares), value_sum, share_sum, mean, rounded(bound))
        self.tables["summary"].append(row)


def scale_of(tag):
    standard = STANDARD_TAGS.get(tag)
    if standard is None:
        return 0, 100
    return None if None in (standard.lowest, standard.highest) else (int(standard.lowest), int(standard.highest))


def share_of(value, lowest, highest):
    share = (value - lowest) / (highest - lowest)
    return int(min(max(share, Fraction(0)), Fraction(1)) * 10**6)


def wilson(total, count, lowest, highest):
    """Return the lower end of Wilson's score interval at 95 %, solved from its quadratic equation."""
    z2, p = 1.6448536269514722**2, float(total / count)
    a, b, c = 1 + z2 / count, -(2 * p + z2 / count), p * p
    return lowest + max(0.0, (-b - sqrt(max(0.0, b * b - 4 * a * c))) / (2 * a)) * (highest - lowest)


def rounded(bound):
    return None if bound is None else round(bound, 6) + 0.0


def stored_tables(engine):
    """Return all rows of the tables of events and of the derived tables, in the form of the model."""
    summaries = {}
    with engine.connect() as connection:
        for table in (*schema.EVENT_TABLES.values(), schema.undecodable_log, *DERIVED_TABLES):
            rows = [tuple(row) for row in connection.execute(select(table))]
            if table is rating_tables.summary:
                rows = [(*row[:-1], rounded(row[-1])) for row in rows]
            summaries[table.name] = sorted(map(repr, rows))
    return summaries

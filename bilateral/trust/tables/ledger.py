"""The encoded tables: every account, agent and opinion as numbers in arrays.

All detectors read these arrays, so they see the same data, whatever its source.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bilateral.trust.tables.arrays import Flags, Floats, Ints
from bilateral.trust.tables.holdings import Holdings
from bilateral.trust.tables.opinions import Opinions


@dataclass(frozen=True)
class Ledger:
    """All tables in encoded form.

    Attributes:
        addresses: The address of each account.
        agent_ids: The id of each agent in ascending order, followed by the ids of earlier tenures of agents that
            changed hands. Each tenure is a separate agent that belongs to the account that held the agent then.
        identity: The number of the current agent to which each agent (or earlier tenure) corresponds.
        owner: The account that owns each agent.
        wallet: The wallet of each agent.
        registered: The time of each agent's registration, or the time since which its account has held it.
        until: The time until which each agent's account held it; infinity for current agents.
        is_received: Marks the agents that their owner did not register. Anyone can give an agent to anyone.
        holdings: The accounts that held the agents that changed hands.
        operated: The agent-operator pairs, encoded by `pairs` with the number of accounts, in ascending order.
        is_validator: Marks the agents that validate.
        uri: The code of each agent's URI; -1 where the URI is empty.
        tags: The text of each tag.
        constant_tags: The codes of tags that always have the same value, no matter how often they are used.
        subject_account: The account responsible for each subject.
        subject_agent: The agent that corresponds to each subject; -1 for a client.
        subject_kind: The `Kind` of the opinions about each subject.
        payer, payee, paid_agent, amount, paid_at: The payments. `paid_agent` is -1 for an unknown agent.
        src, dst, sent, sent_at: The transfers, sorted by time.
        coin: The coin that each transfer sent, as its position in `coins`; -1 for the unit of payments.
        coins: The coins' symbols.
        moved: The position of each transfer in its table.
        funding: The position in `src` of the transfer that funds each account; -1 if unknown.
        funder: The source of each account's first inbound transfer; -1 if unknown, or if the account acted before that
            transfer.
        funded_at: The time of that transfer; nan if unknown.
        funded_with: The amount of that transfer; nan if unknown.
        dropped: The number of rows left out because they refer to an unknown agent.
    """

    addresses: pa.Array
    agent_ids: Ints
    identity: Ints
    owner: Ints
    wallet: Ints
    registered: Floats
    until: Floats
    is_received: Flags
    holdings: Holdings
    operated: Ints
    is_validator: Flags
    uri: Ints
    tags: list[str]
    constant_tags: Ints
    opinions: Opinions
    subject_account: Ints
    subject_agent: Ints
    subject_kind: Ints
    payer: Ints
    payee: Ints
    paid_agent: Ints
    amount: Floats
    paid_at: Floats
    src: Ints
    dst: Ints
    sent: Floats
    sent_at: Floats
    coin: Ints
    coins: list[str]
    moved: Ints
    funding: Ints
    funder: Ints
    funded_at: Floats
    funded_with: Floats
    dropped: int

    @property
    def accounts(self) -> int:
        """The number of accounts."""
        return len(self.addresses)

    @property
    def comparable(self) -> Flags:
        """Marks transfers between two accounts in the unit of payments, the only transfers comparable with payments."""
        return (self.src >= 0) & (self.dst >= 0) & (self.coin < 0)

    @property
    def acting(self) -> Flags:
        """Marks the accounts that wrote an opinion or own an agent."""
        marked = np.zeros(self.accounts, bool)
        marked[self.opinions.rater] = True
        marked[self.owner] = True
        return marked

    @property
    def agents(self) -> int:
        """The number of agents, including earlier tenures."""
        return len(self.agent_ids)

    @property
    def current(self) -> int:
        """The number of current agents, which precede the earlier tenures."""
        return int(self.identity.max(initial=-1)) + 1

    @property
    def registrations(self) -> tuple[Ints, Floats]:
        """The accounts that registered agents, and when they did so."""
        return self.owner[~self.is_received], self.registered[~self.is_received]

    @property
    def subjects(self) -> int:
        """The number of subjects, including those without opinions."""
        return len(self.subject_account)

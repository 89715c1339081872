"""The assumptions about a market. They are chosen, not measured; docs/decisions.md lists them."""

from dataclasses import dataclass, field
from typing import Any, Final

from simulation.probes import Losses

DAY: Final = 86_400.0
START: Final = 1_770_000_000.0
"""The first second of each market, in Unix seconds."""

GAS: Final = (0.001, 0.05)
"""The dollars of a transaction of 100,000 gas on a cheap and on a dear chain: at 0.0033 and 0.17 gwei, and $3,000 an
ether. Feedback takes 77,000 to 121,000 gas, see docs/gas.md, and a payment of a token less. `bench.trust.study.price`
prices attacks at 0.01 gwei, between the two."""

_REGISTRATION: Final = 1.26
"""The gas of `register(uri)` by that of the usual transaction, by docs/gas.md."""


@dataclass(frozen=True)
class Settings:
    """The assumptions about honest people, prices and costs. Money is in dollars.

    Attributes:
        accounts: The number of honest accounts: one seller in six, and buyers.
        days: The number of days.
        attackers: The number of attackers who cheat buyers.
        campaigns: The campaigns that an attacker runs at once.
        budget: The money that each attacker starts with.
        categories: The number of kinds of service. Their demand falls as 1 / rank.
        candidates: The offers that a buyer compares for a need.
        leaders: The length of the policy's list of leaders of each kind of service. Half of the offers are from it.
        needs: The mean number of needs of a buyer in a day. Buyers differ much (a gamma distribution of shape 0.5).
        price: The median of a price. Prices are log-normal, with a deviation of 1.2.
        tries: The share of small needs (up to the median) for which a buyer tries the least known offer.
        returns: The share of needs for which a buyer returns to its last good seller of this kind.
        rates: The share of purchases that buyers rate.
        proves: The share of feedback on paid purchases with a proof of payment.
        rates_back: The share of purchases for which the seller rates the client.
        gas: The cost of a transaction. `GAS` has those of a cheap and of a dear chain.
        fee: The share of a payment that the payment service takes.
        withdrawal: The cost to fund an account from an exchange; from another account it costs `gas`.
        cost: The share of a price that it costs to serve well.
    """

    accounts: int = 5_000
    days: int = 60
    attackers: int = 40
    campaigns: int = 2
    budget: float = 300.0
    categories: int = 12
    candidates: int = 8
    leaders: int = 20
    needs: float = 0.15
    price: float = 1.0
    tries: float = 0.15
    returns: float = 0.25
    rates: float = 0.45
    proves: float = 0.6
    rates_back: float = 0.15
    gas: float = 0.01
    fee: float = 0.01
    withdrawal: float = 0.30
    cost: float = 0.6

    @property
    def registration(self) -> float:
        """The cost to register an agent."""
        return _REGISTRATION * self.gas

    def time(self, day: Any) -> Any:
        """Return a time in Unix seconds.

        Args:
            day: Days since the start of the market, as a number or an array.
        """
        return START + DAY * day


@dataclass(frozen=True)
class Deaths:
    """The assumptions about honest sellers that do not respond, their buyers, and the probes of one watchtower.

    A seller that does not respond takes no money, as x402 has it, and gets no feedback. Attackers always respond.

    Attributes:
        never: The share of sellers that never respond.
        ends: The share of sellers that cease to respond for good, at a random time.
        outages: The share of sellers with one outage, at a random time.
        outage: The mean length of an outage in days. Lengths are exponential.
        offers: The offers that a buyer tries for a need. It never goes back to a seller that did not respond.
        losses: The probes that fail though a seller responds to buyers.
    """

    never: float = 0.2
    ends: float = 0.2
    outages: float = 0.1
    outage: float = 3.0
    offers: int = 2
    losses: Losses = field(default_factory=Losses)

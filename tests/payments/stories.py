"""Made-up payments as plain facts: what was agreed, and what became of it. Nothing here knows how either is judged."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("eip3009", "permit2-exact", "permit2-upto")
PRICES = (1, 1_000, 5_000_000)
AGENTS, BUYERS = 3, 24
WALLETS = range(0, BUYERS, 5)
"""The numbers of the buyers that are contract wallets (ERC-1271)."""

STRANGER = AGENTS
"""The number of the seller that is no agent."""

FREE_AGENTS = (0,)
"""The numbers of the sellers that declare that an answer may be free."""

FLAWED = "signs something else"

ACTS = {
    "settles": 40,
    "settles by a router": 8,
    "settles two by a router": 6,
    "settles two of one buyer by a router": 4,
    "settles by a router among transfers": 4,
    "is overtaken": 5,
    "is cancelled": 4,
    "expires": 4,
    "stays open": 4,
    "names an earlier payment": 5,
    "names a payment of another buyer": 5,
    "names a plain transfer": 4,
    "names no transaction of the chain": 2,
    "settles another token": 3,
    "settles a token that moves another one": 3,
    "pays past the proxy": 3,
    "pays by an allowance": 3,
    "imitates the contract": 4,
    "charges nothing": 4,
    "charges nothing and then all": 3,
    "charges too much": 3,
    FLAWED: 14,
    "sends it again": 5,
    "sends it twice at once": 5,
    "sends it for another token at once": 3,
}
"""What sellers, buyers and strangers do, and how often."""

_PERMIT2_ONLY = {
    "settles another token",
    "settles a token that moves another one",
    "pays past the proxy",
    "pays by an allowance",
    "sends it for another token at once",
}
_UPTO_ONLY = {"charges nothing", "charges nothing and then all"}
_WITHOUT_FACILITATOR = {"is overtaken"}

FLAWS = {
    "eip3009": (
        "two authorizations",
        "neither authorization",
        "another payee",
        "another amount",
        "a nonce as a number",
        "an escrow",
        "an escrow with a salt",
    ),
    "permit2-exact": (
        "two authorizations",
        "no witness",
        "no spender",
        "an unknown spender",
        "the other proxy",
        "a facilitator where none belongs",
        "another payee",
        "another token",
        "another amount",
        "a nonce as a number",
        "a nonce in hexadecimal digits",
        "a negative nonce",
        "a nonce of more than a word",
        "an escrow",
        "an escrow with a salt",
    ),
    "permit2-upto": (
        "two authorizations",
        "no witness",
        "no spender",
        "an unknown spender",
        "the other proxy",
        "the retired proxy",
        "no facilitator",
        "another payee",
        "another token",
        "another amount",
        "a nonce in hexadecimal digits",
        "a nonce of more than a word",
        "an escrow",
    ),
}
"""What may be wrong with what a buyer signs, for each kind. Its message says the same terms as the server's."""

FORMS = ("plain", "with a permit", "with bytes after it", "compact", "with a high s")
SAYS = ("the truth", "nothing", "another amount")


def is_possible(kind, act):
    """Return True if an act can happen to a kind of payment."""
    if act in _PERMIT2_ONLY:
        return kind != "eip3009"
    if act in _UPTO_ONLY:
        return kind == "permit2-upto"
    return act not in _WITHOUT_FACILITATOR or kind != "permit2-upto"


CASES = [
    (kind, act, flaw)
    for kind in KINDS
    for act in ACTS
    if is_possible(kind, act)
    for flaw in (FLAWS[kind] if act == FLAWED else [""])
]
"""Every act and flaw that each kind can have."""

CHANNEL_ACTS = (
    "claims once",
    "claims fifty times",
    "claims again",
    "claims and refunds",
    "claims of a stranger's deposit",
    "claims of both deposits",
    "pays a buyer",
)


@dataclass(frozen=True)
class Story:
    """One made-up payment.

    Attributes:
        number: Its number, which names its nonce too.
        kind: The kind that both agreed on.
        coin: `dollar`, or `taxed`, which gives a tenth of each transfer by a spender to another account.
        price: The agreed amount; the ceiling of `permit2-upto`.
        charged: The amount that the seller takes.
        buyer: The number of the buyer.
        seller: The number of the seller.
        act: What happens, one of `ACTS`.
        flaw: What is wrong with what the buyer signs; empty if nothing is.
        form: How the settling call is written.
        says: What the answer says about the amount.
    """

    number: int
    kind: str
    coin: str
    price: int
    charged: int
    buyer: int
    seller: int
    act: str
    flaw: str
    form: str
    says: str


@dataclass(frozen=True)
class ChannelStory:
    """One made-up channel: its payer deposits 1,000 unless a stranger does, and its receiver claims up to 700."""

    number: int
    act: str
    collector: str
    buyer: int
    seller: int


def make_up(count, draw):
    """Make up payments, of which one in twelve is a channel. The first of them have every act and flaw of every kind.

    Args:
        count: The number of stories.
        draw: A `random.Random`.
    """
    cases = list(CASES)
    draw.shuffle(cases)
    for number in range(count):
        if number % 12 == 11:
            yield _channel(number, draw)
        else:
            yield _payment(number, draw, *(cases.pop() if cases else _likely(draw)))


def _likely(draw):
    """Draw a kind, an act and a flaw, each act as often as `ACTS` says."""
    kind = draw.choice(KINDS)
    fits = [act for act in ACTS if is_possible(kind, act)]
    (act,) = draw.choices(fits, [ACTS[act] for act in fits])
    return kind, act, draw.choice(FLAWS[kind]) if act == FLAWED else ""


def _channel(number, draw):
    act = CHANNEL_ACTS[number // 12 % len(CHANNEL_ACTS)]
    collector = draw.choice(("eip3009", "permit2"))
    return ChannelStory(number, act, collector, draw.randrange(BUYERS), draw.randrange(AGENTS + 1))


def _payment(number, draw, kind, act, flaw):  # what a story begins with
    price = draw.choice(PRICES)
    charged = price
    if act.startswith("charges nothing"):
        charged = 0
    elif act == "charges too much":
        charged = price + 1
    elif kind == "permit2-upto":
        charged = draw.choice((1, price, draw.randint(1, price)))
    coin = "taxed" if draw.random() < 0.1 else "dollar"
    buyer, seller = draw.randrange(BUYERS), draw.choice((*range(AGENTS), *range(AGENTS), STRANGER))
    # Tokens take one form of signatures, and so do wallets.
    form = "plain" if kind == "eip3009" else draw.choice(FORMS)
    says = draw.choice(("the truth", "the truth", *SAYS))
    return Story(number, kind, coin, price, charged, buyer, seller, act, flaw, form, says)

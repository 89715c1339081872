"""Filters for agent searches. Each filter is validated on creation, so queries never contain invalid filters.

A word is a sequence of letters and digits, in lower case and without accents. SQLite and PostgreSQL both use this
definition, so that a search finds the same agents on either. Each Chinese or Japanese character is a separate word,
because these languages do not put spaces between words.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from typing import Final

from bilateral.core.errors import InvalidArgumentError, MalformedIdentifierError
from bilateral.core.identifiers import AgentId, checksummed
from bilateral.core.text import quoted
from bilateral.core.values.summaries import SEALED_SIDES, Blind
from bilateral.index.log.text import key_text
from bilateral.index.measurements.values import Alive

MAX_TEXT: Final = 1_000
"""The maximum number of characters in a query's text."""

MAX_QUERY_WORDS: Final = 16
"""The maximum number of different words in a query's text."""

MAX_LISTED: Final = 200
"""The maximum number of entries in each list of a filter, such as the gate's reviewers."""

MAX_GATES: Final = 5
"""The maximum number of gates per search."""


MAX_WORD: Final = 40
"""The maximum number of characters in a word. The rest of a longer word is ignored."""

MAX_WORDS: Final = 2_000
"""The maximum number of different words in a text that are taken into account."""

SIMILAR_LENGTHS: Final = range(4, 25)
"""The lengths of words for which similar words are looked up."""

_ASCII_WORD: Final = re.compile("[a-z0-9]+")

# Kana and Chinese characters, by Unicode block. Their words are not separated by spaces.
_UNSPACED: Final = (range(0x3040, 0x3100), range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0x20000, 0x32000))


class Side(StrEnum):
    """The roles in which an agent can be rated."""

    SERVER = "server"
    """Rated as a server, by clients' feedback."""

    CLIENT = "client"
    """Rated as a client, by servers."""

    VALIDATOR = "validator"
    """Rated as a validator, by servers."""


class Order(StrEnum):
    """The sort orders of search results. Agents with the same rank are ordered by chain, registry and id."""

    STANDING = "standing"
    """Agents with the query's words in their names come first. Agents with and without the words are each sorted by
    standing on the first gate's side, highest first, then those not yet analysed by registration. Withheld agents come
    last.
    """

    RELEVANCE = "relevance"
    """Agents with more of the query's words in their names come first, and then those with higher lower bounds."""

    MEANING = "meaning"
    """Agents whose files are closest to the text in meaning, or contain its rare words. Files need not contain any of
    the words. Agents with the same file are sorted by standing. Withheld agents come after all others. At most 400
    files are found. This order requires the `semantic` extra."""

    LOWER_BOUND = "lower_bound"
    """By lower bound of the ratings for the first gate, highest first."""

    MEAN = "mean"
    """By mean of the ratings for the first gate, highest first."""

    ACTIVITY = "activity"
    """By number of ratings for the first gate, highest first."""

    UPDATED = "updated"
    """By time of the last change, most recent first."""

    REGISTERED = "registered"
    """By time of registration, most recent first."""

    LAST_ACTIVE = "last_active"
    """By time of the latest feedback, most recent first; for agents without feedback, by time of registration."""


OF_GATE: Final = (Order.LOWER_BOUND, Order.MEAN, Order.ACTIVITY)
"""The sort orders that require a gate."""


_OF_TEXT: Final = (Order.RELEVANCE, Order.MEANING)
"""The sort orders that require a search text."""


class Payment(StrEnum):
    """The degrees of evidence that feedback was paid for. None of them is proof, because no transfers are checked."""

    CLAIMED = "claimed"
    """The feedback file refers to a transaction, which is only a claim by the file's author."""

    MATCHING = "matching"
    """In addition, the client published exactly this file, which lists the client as the payer and the agent's owner or
    wallet as the payee. The transaction itself was not checked."""


class Capability(StrEnum):
    """The kinds of capabilities in registration files."""

    MCP_TOOL = "mcp_tool"
    MCP_PROMPT = "mcp_prompt"
    MCP_RESOURCE = "mcp_resource"
    A2A_SKILL = "a2a_skill"
    OASF_SKILL = "oasf_skill"
    OASF_DOMAIN = "oasf_domain"
    TRUST = "trust"


@dataclass(frozen=True)
class Gate:
    """A condition on an agent's ratings: values from one registry, for one side and tag, must meet all of its limits.

    Values with different tags or from different registries are never averaged.

    Attributes:
        tag: The tag (`tag1`); None for any tag. Ratings by servers have the tag `""`.
        minimum: The minimum mean rating.
        maximum: The maximum mean rating.
        lower_bound: The minimum lower bound, at 95 % confidence. Tags without a scale have no lower bound.
        count: The minimum number of ratings.
        maximum_count: The maximum number of ratings.
        clients: The minimum number of distinct clients (or servers) that gave the ratings.
        reviewers: Count only ratings from these reviewers (addresses for the server side, agent ids for the others);
            all ratings if empty.
        payment: Count only feedback with this evidence of payment; all feedback if None.
        blind: `only` to count only ratings that were sealed first; None to count all.

    Raises:
        InvalidArgumentError: A number is out of range, or a reviewer is neither an address nor an agent's id.
    """

    tag: str | None = None
    side: Side = Side.SERVER
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    lower_bound: Decimal | None = None
    count: int = 1
    maximum_count: int | None = None
    clients: int = 1
    reviewers: tuple[str, ...] = ()
    payment: Payment | None = None
    blind: Blind | None = None

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum", "lower_bound"):
            value = getattr(self, name)
            if value is not None and not (Decimal(value).is_finite() and math.isfinite(float(value))):
                raise InvalidArgumentError(f"{name} {value} is not a number")
        for name in ("count", "maximum_count", "clients"):
            value = getattr(self, name)
            if value is not None and not 1 <= value < 2**63:
                raise InvalidArgumentError(f"{name} {value} is out of range 1..2^63-1")
        if self.payment is not None and self.side is not Side.SERVER:
            raise InvalidArgumentError(f"payment only applies to feedback (side server), not to side {self.side}")
        if self.only_sealed and self.side is Side.VALIDATOR:
            raise InvalidArgumentError("blind only applies to ratings of servers and clients, not of validators")
        require_short("reviewers", self.reviewers)
        object.__setattr__(self, "reviewers", tuple(dict.fromkeys(map(self._reviewer, self.reviewers))))
        if self.tag is not None:
            object.__setattr__(self, "tag", key_text(storable(self.tag)))

    @property
    def only_sealed(self) -> bool:
        """True to count only ratings that were sealed before either side saw the other's rating."""
        return self.blind is not None

    @property
    def summed_side(self) -> str:
        """The side under which the summary tables store the ratings that count for the gate."""
        return SEALED_SIDES[self.side.value] if self.only_sealed else self.side.value

    @property
    def is_of_few(self) -> bool:
        """True for a gate on reviewers or payment claims. Few ratings pass it, so it is best to collect these first."""
        return self.payment is not None or bool(self.reviewers)

    def _reviewer(self, text: str) -> str:
        """Return a reviewer in the form used by the `counterpart` table."""
        if self.side is Side.SERVER:
            return address("reviewer", text)
        if text.startswith("agent "):
            return text
        try:
            return f"agent {AgentId.parse(text).token_id}"
        except MalformedIdentifierError as problem:
            raise InvalidArgumentError(str(problem)) from None


@dataclass(frozen=True)
class AgentSearch:
    """A search for agents. Agents must meet all conditions; a search without conditions finds every agent.

    Attributes:
        text: Words to search for. For each of these words, the name, description, services or capabilities in the
            registration file must contain a word that begins with it. A word that no file contains is replaced with
            similar words from agents' names.
        chains: Match only agents on these chains; on all chains if empty.
        owner: Match only agents with this owner.
        wallet: Match only agents with this wallet.
        capabilities: Match only agents with all of these capabilities, each given as a kind and an exact value.
        services: Match only agents with all of these kinds of services, such as `mcp`, ignoring case.
        active: Match only agents whose registration file declares this value for the field; None for all.
        x402: Match only agents whose registration file declares this value for the field; None for all.
        verified_domain: True for agents that are listed by the domain of one of their services, False for all other
            agents; None for all.
        alive: Match only agents that respond, once responded or never responded, according to a watchtower; None for
            all.
        registered_from: Match only agents registered at this time or later, in Unix seconds.
        registered_to: Match only agents registered at this time or earlier, in Unix seconds.
        updated_from: Match only agents last changed at this time or later, in Unix seconds.
        updated_to: Match only agents last changed at this time or earlier, in Unix seconds.
        metadata: Match only agents with these on-chain metadata entries, each a key and a value (None for any value).
        rated: True for agents with feedback that is included in summaries, False for other agents; None for all.
        gates: The conditions on ratings. The first gate determines the agents' rank.
        order: The sort order; None to sort by standing.

    Raises:
        InvalidArgumentError: The value of a condition is out of range.
    """

    text: str | None = None
    chains: tuple[int, ...] = ()
    owner: str | None = None
    wallet: str | None = None
    capabilities: tuple[tuple[Capability, str], ...] = ()
    services: tuple[str, ...] = ()
    active: bool | None = None
    x402: bool | None = None
    verified_domain: bool | None = None
    alive: Alive | None = None
    registered_from: int | None = None
    registered_to: int | None = None
    updated_from: int | None = None
    updated_to: int | None = None
    metadata: tuple[tuple[str, bytes | None], ...] = ()
    rated: bool | None = None
    gates: tuple[Gate, ...] = ()
    order: Order | None = None

    def __post_init__(self) -> None:
        for name in ("chains", "capabilities", "services", "metadata"):
            require_short(name, getattr(self, name))
        if len(self.gates) > MAX_GATES:
            raise InvalidArgumentError(f"the search has {len(self.gates)} gates, but at most {MAX_GATES} are allowed")
        if self.order in OF_GATE and not self.gates:
            raise InvalidArgumentError(
                f"sorting by {self.order} requires a gate: add a tag or another condition on ratings"
            )
        if self.order in _OF_TEXT and not self.words:
            raise InvalidArgumentError(f"sorting by {self.order} requires a search query")
        require_in_range(self.registered_from, self.registered_to, self.updated_from, self.updated_to, *self.chains)
        for field, entries in (
            ("capabilities", tuple((Capability(kind), storable(value)) for kind, value in self.capabilities)),
            ("services", tuple(storable(name) for name in self.services)),
            ("metadata", tuple((key_text(storable(key)), value) for key, value in self.metadata)),
        ):
            object.__setattr__(self, field, entries)
        for name in ("owner", "wallet"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, address(name, getattr(self, name)))
        _ = self.words

    @property
    def words(self) -> list[str]:
        """The words in the text; empty if there is no text. A search by meaning uses only a long text's first words."""
        return query_words(self.text, are_optional=self.order is Order.MEANING)

    @property
    def ranking(self) -> Order:
        """The sort order, or the default order if none is set."""
        return Order.STANDING if self.order is None else self.order

    @property
    def rated_side(self) -> Side:
        """The side of the first gate. Standings on this side determine the rank."""
        return self.gates[0].side if self.gates else Side.SERVER


def query_words(text: str | None, *, are_optional: bool = False) -> list[str]:
    """Return the words of a query's text.

    Args:
        text: The text; None or blank for no words.
        are_optional: True to drop words beyond the limit, False to reject them.

    Raises:
        InvalidArgumentError: The text is too long, contains no words, or contains too many.
    """
    if text is None or not text.strip():
        return []
    if len(text) > MAX_TEXT:
        raise InvalidArgumentError(f"the text has {len(text)} characters, but at most {MAX_TEXT} are allowed")
    words = words_of([text])
    if not words:
        raise InvalidArgumentError(f"the text {quoted(text)} has no letter or digit to search for")
    if len(words) > MAX_QUERY_WORDS and not are_optional:
        raise InvalidArgumentError(f"the text has {len(words)} words, but at most {MAX_QUERY_WORDS} are allowed")
    return words[:MAX_QUERY_WORDS]


def address(name: str, text: str) -> str:
    """Return an address in checksum form.

    Args:
        name: The name of the argument, for the error message.
        text: The address, in upper or lower case.

    Raises:
        InvalidArgumentError: The text is not an address.
    """
    digits = text[2:]
    if len(text) != 42 or text[:2].lower() != "0x" or set(digits) - set("0123456789abcdefABCDEF"):  # noqa: PLR2004
        raise InvalidArgumentError(f"{name} {quoted(text)} is not an address: expected 0x and 40 hexadecimal digits")
    return checksummed(f"0x{digits.lower()}")


def require_short(name: str, entries: tuple[object, ...] | Mapping[str, object]) -> None:
    """Check that a list is not too long.

    Raises:
        InvalidArgumentError: The list is too long.
    """
    if len(entries) > MAX_LISTED:
        raise InvalidArgumentError(f"the filter has {len(entries)} {name}, but at most {MAX_LISTED} are allowed")


def require_in_range(*values: int | None) -> None:
    """Check that times and chain ids can be stored.

    Raises:
        InvalidArgumentError: A time or chain id is negative, or too large for the tables.
    """
    for value in values:
        if value is not None and not 0 <= value < 2**63:
            raise InvalidArgumentError(f"the time or chain id {value} is out of range 0..2^63-1")


def storable(text: str) -> str:
    """Return a text as the index would store it, without NUL and lone surrogates, which databases reject."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def words_of(texts: Iterable[str | None]) -> list[str]:
    """Return the distinct words in the given texts, in the order in which they first appear."""
    every = (word for text in texts if text for word in _words(text))
    return list(islice(dict.fromkeys(every), MAX_WORDS))


def trigrams(word: str) -> set[str]:
    """Return the trigrams of a word after adding two spaces before it and one after it, as `pg_trgm` does."""
    padded = f"  {word} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}


def _words(text: str) -> Iterator[str]:
    if text.isascii():  # the code below does the same in ten times as long
        yield from (word[:MAX_WORD] for word in _ASCII_WORD.findall(text.lower()))
        return
    letters: list[str] = []
    for character in (*unicodedata.normalize("NFKD", text.casefold()).casefold(), " "):
        is_word = any(ord(character) in signs for signs in _UNSPACED)
        if unicodedata.category(character) == "Mn":  # accents do not separate words
            continue
        if character.isalnum() and not is_word:
            letters.append(character)
            continue
        if letters:
            yield "".join(letters)[:MAX_WORD]
        letters = []
        if is_word:
            yield character

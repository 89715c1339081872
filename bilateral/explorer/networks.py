"""Chain names in page paths, such as `base` in `/base/247`."""

from collections.abc import Sequence
from functools import cache
from typing import Final
from urllib.parse import urlencode

from bilateral.core.contracts.records import address_book
from bilateral.index.ratings.queries import RatingSummary

_MAIN: Final = "mainnet"
_TAGGED: Final = ("server", "authorized")
"""The kinds of ratings that have tags."""

_EXPLORERS: Final = {
    1: "https://etherscan.io",
    10: "https://optimistic.etherscan.io",
    56: "https://bscscan.com",
    100: "https://gnosisscan.io",
    137: "https://polygonscan.com",
    8453: "https://basescan.org",
    42161: "https://arbiscan.io",
    42220: "https://celoscan.io",
    43114: "https://snowscan.xyz",
    84532: "https://sepolia.basescan.org",
    11155111: "https://sepolia.etherscan.io",
}
"""The block explorers, such as Etherscan, by chain. A chain without a block explorer gets no links."""


@cache
def slugs() -> dict[str, int]:
    """Return the chain id for each name: `base` for a mainnet, `base-sepolia` for a testnet."""
    names = {}
    for chain_id, record in address_book().items():
        ecosystem, _, name = record.network.partition(":")
        names[ecosystem if name == _MAIN else f"{ecosystem}-{name}"] = chain_id
    return names


@cache
def slug_of(chain_id: int) -> str:
    """Return a chain's name, or its number if it has no name."""
    return next((name for name, slug in slugs().items() if slug == chain_id), str(chain_id))


def chain_of(slug: str) -> int | None:
    """Return the chain for a name or a number; None if the text is neither."""
    chain_id = slugs().get(slug)
    if chain_id is not None:
        return chain_id
    is_number = slug.isascii() and slug.isdigit() and len(slug) < 19 and not slug.startswith("0")  # noqa: PLR2004
    return int(slug) if is_number else None


def agent_path(agent: str) -> str:
    """Return the path of an agent's page."""
    chain_id, _, number = agent.partition(":")
    return f"/{slug_of(int(chain_id))}/{number}"


def account_path(account: str) -> str:
    """Return the path of an account's page."""
    return f"/accounts/{account}"


def rating_path(chain_id: int, block: int, log_index: int) -> str:
    """Return the path of a rating's page."""
    return f"/{slug_of(chain_id)}/ratings/{block}-{log_index}"


def ratings_path(agent: str, side: str = "server", tag: str | None = None, **filters: str | None) -> str:
    """Return the path of the list of an agent's ratings."""
    parameters = {"side": None if side == "server" else side, "tag": tag if side in _TAGGED else None, **filters}
    query = urlencode({name: value for name, value in parameters.items() if value is not None})
    return f"{agent_path(agent)}/ratings{'?' if query else ''}{query}"


def summary_path(agent: str, summary: RatingSummary, ratings: Sequence[RatingSummary]) -> str:
    """Return the path of the ratings behind a summary."""
    same = [other for other in ratings if (other.side, other.tag) == (summary.side, summary.tag)]
    return ratings_path(agent, summary.side, summary.tag, registry=summary.registry if len(same) > 1 else None)


def transaction_link(chain_id: int, transaction: str) -> str | None:
    """Return the URL of a transaction in a block explorer; None if there is none."""
    site = _EXPLORERS.get(chain_id)
    return None if site is None else f"{site}/tx/{transaction}"

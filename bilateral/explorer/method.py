"""The page that says how each figure is made, and what the API has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bilateral.index.operating.chains import ChainProgress


@dataclass(frozen=True, slots=True)
class Explanation:
    """The making of a figure.

    Attributes:
        anchor: The name with which a path leads to it: figures of other pages link to it.
        name: The figure, as pages name it.
        text: The explanation.
    """

    anchor: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Entrance:
    """A part of the API.

    Attributes:
        path: The path, or a pattern of it.
        link: The path to try it; None if it takes more than a path.
        text: The content.
    """

    path: str
    link: str | None
    text: str


@dataclass(frozen=True, slots=True)
class MethodPage:
    """The content of the page.

    Attributes:
        explanations: The making of each figure.
        api: The parts of the API.
        chains: The indexed chains.
    """

    explanations: tuple[Explanation, ...]
    api: tuple[Entrance, ...]
    chains: tuple[ChainProgress, ...]


EXPLANATIONS: Final = tuple(
    Explanation(*setting)
    for setting in (
        (
            "mean",
            "Mean",
            "The sum of the values divided by their number. Values of different tags are never mixed. Revoked "
            "feedback does not count.",
        ),
        (
            "at-least",
            "At least",
            "The lower bound of the mean, with a confidence of 95 %. Each rater counts once, however often it "
            "rates: its own mean stands for it. The formula is Wilson's.",
        ),
        (
            "standing",
            "Standing",
            "The rating that an agent deserves once false ratings are left out, by the trust analysis: 0 to 100. It is "
            "the one figure of an agent on a side, and lies between two values with a confidence of 95 %. The lower "
            "one ranks agents in lists and searches. “Held back”: its ratings were made up; it comes after all others. "
            "“Contested”: its own acts tie it to false ratings, and this is not proven. “Thin”: too few raters "
            "count; try it for a small amount. The best of the first page are those with enough evidence: a standing "
            "of 50 as a server, of 70 as a client.",
        ),
        (
            "raters",
            "Raters by their mean",
            "Each rater of the shown tag is counted in the tenth of the scale in which its mean lies. Of more than "
            "10,000 raters, the first 10,000 in the order of their addresses are counted.",
        ),
        (
            "side",
            "Which tag stands for a side",
            "The one with the most raters, among those whose values have a least and a greatest one.",
        ),
        (
            "payment",
            "Payment",
            "“Proven”: in the transaction that the feedback's file names, the client paid the wallet of the rated "
            "agent, as the chain shows. “To itself”: so it did, but it owns the agent, is its wallet or may act for "
            "it. “Claimed”: the file names a transaction, and the index has no such payment in it. “None”: it "
            "names none. The shares “Payment proven” and “Payment claimed” count that state alone. The index reads "
            "payments of the tokens that its operator names.",
        ),
        (
            "shares",
            "Shares",
            "Shares of proven and claimed payments, of answered and of standing feedback are of the newest 300 "
            "entries. Ratings by servers are final, so all of them stand.",
        ),
        (
            "independent",
            "Independent raters",
            "The number of independent raters that all raters are worth to the trust analysis, divided by their "
            "number. Accounts under one control are worth about one.",
        ),
        (
            "beyond",
            "Beyond the top 5",
            "The share of ratings that come from others than the five raters with the most.",
        ),
        (
            "neighbourhood",
            "Trust neighbourhood",
            "The eight counterparts with the most ratings on each side. A line is as thick as their number; red is a "
            "mean below half of the scale. An account that speaks as an agent is shown as that agent.",
        ),
        (
            "activity",
            "Activity",
            "The newest 300 ratings of each side by the day of their block (UTC), of the last 84 days.",
        ),
        (
            "scores",
            "Without false ratings",
            "The score of the trust analysis, which leaves flagged raters out and shortens the memory of agents that "
            "changed. The page of the analysis lists its detectors and what each would miss.",
        ),
        (
            "buyer",
            "As a buyer",
            "The score by the Buyer Reputation Protocol, of the payments that the chain shows. The second score "
            "counts dealings with independent sellers alone.",
        ),
        (
            "both-ways",
            "Also on other chains",
            "“Both ways”: the files of both agents name each other. “One way”: only this agent's file does, which "
            "anybody may write. “Same owner”: one account owns both.",
        ),
        (
            "file",
            "Registration file",
            "The hash is the SHA-256 of the bytes that the index stored. They are fixed if the URI contains them, or "
            "their hash. Else the server may change them at any time.",
        ),
        (
            "network",
            "Network",
            "The newest 20,000 ratings of each direction, between the 5,000 agents and accounts with the most of them. "
            "A group is made in rounds: each takes the group of most of its links. Flags are those of the trust "
            "analysis.",
        ),
        (
            "words",
            "Names, descriptions and tags",
            "They are the words of strangers. Characters that a person would not see are shown as marks, such as "
            "U+202E. A name that looks like another one of the page is marked, and so is one with letters of several "
            "alphabets. Images of agents are not loaded: the pictures are made from ids.",
        ),
    )
)

API: Final = tuple(
    Entrance(*setting)
    for setting in (
        ("….json", "/index.json", "each page's content: add .json to its path, or ask with Accept: application/json"),
        ("/openapi.json", "/openapi.json", "all paths, parameters and answers of the HTTP API"),
        ("/v1/agents/{agent}", None, "an agent, its feedback, ratings, responses, validations and neighbourhood"),
        ("/v1/accounts/{address}", None, "an account's agents, its feedback and its validations"),
        ("/v1/search/agents", "/v1/search/agents", "agents by words, capabilities and gates on ratings"),
        ("/v1/leaders", "/v1/leaders?tag=starred", "agents by lower bound for a tag"),
        ("/v1/checks/server, /v1/checks/client", None, "a decision about an agent by your own gate"),
        ("/api/buyer/{address}", None, "a buyer's record by the Buyer Reputation Protocol"),
        ("/private-tiers", "/private-tiers", "who learns what of a private proof, and the size of the groups"),
        ("/graphql", None, "the same entities by GraphQL"),
        ("/mcp", None, "tools for models by the Model Context Protocol"),
    )
)


def method_page(chains: tuple[ChainProgress, ...]) -> MethodPage:
    """Return the content of the page.

    Args:
        chains: The indexed chains.
    """
    return MethodPage(EXPLANATIONS, API, chains)

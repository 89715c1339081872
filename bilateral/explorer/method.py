"""The page that says how each figure is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Explanation:
    """The making of a figure.

    Attributes:
        name: The figure, as pages name it.
        text: The explanation.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class MethodPage:
    """The content of the page.

    Attributes:
        explanations: The making of each figure.
    """

    explanations: tuple[Explanation, ...]


METHOD: Final = MethodPage(
    tuple(
        Explanation(*it)
        for it in (
            (
                "Mean",
                "The sum of the values divided by their number. Values of different tags are never mixed. Revoked "
                "feedback does not count.",
            ),
            (
                "At least",
                "The lower bound of the mean, with a confidence of 95 %. Each rater counts once, however often it "
                "rates: its own mean stands for it. The formula is Wilson's.",
            ),
            (
                "Raters by their mean",
                "Each rater of the shown tag is counted in the tenth of the scale in which its mean lies. Of more than "
                "10,000 raters, the first 10,000 in the order of their addresses are counted.",
            ),
            (
                "Which tag stands for a side",
                "The one with the most raters, among those whose values have a least and a greatest one.",
            ),
            (
                "Names, descriptions and tags",
                "They are the words of strangers. Characters that a person would not see are shown as marks, such as "
                "U+202E. Images of agents are not loaded: the pictures are made from ids.",
            ),
            (
                "Payment",
                "“Claimed” means that the feedback's file names a transaction. Nobody checked it here.",
            ),
            (
                "The same as JSON",
                "Add .json to the path of a page, or ask with Accept: application/json. The API has more.",
            ),
        )
    )
)

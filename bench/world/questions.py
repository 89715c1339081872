"""Questions in other words than those of the files of a made-up world, and the agents that answer them.

The files say in their names and capabilities which themes their agents know. A question paraphrases one or two themes,
so the files themselves tell which agents answer it. The same seed makes the same questions.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.world.people import PARAPHRASES

_OPENINGS: Final = (
    *("someone who can {}", "who can {} for me", "I need help to {}", "find a service to {}"),
    *("is there a bot that can {}", "I am looking for somebody to {}", "{}"),
)


KINDS: Final = (
    "one theme in other words",
    "two in other words",
    "one by its name, one in other words",
    "an agent's name",
)
"""The kinds of questions, which take turns."""


@dataclass(frozen=True)
class Question:
    """A question with known answers.

    Attributes:
        text: The question.
        asked: The themes that it asks for, or a theme and a word of a name.
    """

    text: str
    asked: frozenset[str]

    def relevance(self, known: frozenset[str]) -> int:
        """Return the number of things asked for that a file names.

        Args:
            known: The things that the file names, see `known_of`.
        """
        return len(known & self.asked)


def questions(files: Sequence[frozenset[str]], count: int = 200, seed: int = 1) -> list[Question]:
    """Return different questions, each of which a file answers in full. They take turns among `KINDS`.

    Args:
        files: The things that each file names, see `known_of`.
        count: The number of questions.
        seed: The seed.
    """
    chance = random.Random(seed)  # noqa: S311  # reproducible, not secret
    able = [known for known in files if len(known & PARAPHRASES.keys()) > 1]
    named = [known for known in able if known - PARAPHRASES.keys()]
    asked: dict[str, Question] = {}
    while len(asked) < count:
        kind = len(asked) % len(KINDS)
        known = chance.choice(named if kind == 3 else able)  # noqa: PLR2004  # the last kind
        first, second = chance.sample(sorted(known & PARAPHRASES.keys()), 2)
        task, other = (chance.choice(PARAPHRASES[theme]) for theme in (first, second))
        opening = chance.choice(_OPENINGS)
        if kind == 0:
            text, wanted = opening.format(task), {first}
        elif kind == 1:
            text, wanted = opening.format(f"{task} and {other}"), {first, second}
        elif kind == 2:  # noqa: PLR2004
            text, wanted = f"{second} bot that can {task}", {first, second}
        else:
            name = chance.choice(sorted(known - PARAPHRASES.keys()))
            text, wanted = f"can {name.title()} {task}", {first, name}
        asked.setdefault(text, Question(text, frozenset(wanted)))
    return list(asked.values())


def known_of(name: str | None, capabilities: Sequence[str]) -> frozenset[str]:
    """Return the themes in a file's name and capabilities, and the invented word that ends the longest names.

    Args:
        name: The name.
        capabilities: The values of the capabilities.
    """
    words = (name or "").lower().split()
    listed = {word for value in capabilities for word in value.lower().replace("_", " ").replace("/", " ").split()}
    invented = {word for word in words[3:] if word not in PARAPHRASES}
    return frozenset(({*words, *listed} & PARAPHRASES.keys()) | invented)

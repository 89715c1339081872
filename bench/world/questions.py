"""Questions in other words than those of the files of a made-up world, and the agents that answer them.

The files say in their names and capabilities which themes their agents know. A question paraphrases one or two themes,
so the files themselves tell which agents answer it. The same seed makes the same questions.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PARAPHRASES: Final = {
    "weather": ("tell me whether it will rain tomorrow", "forecast temperature and wind"),
    "market": ("follow what buyers and sellers do at the exchange", "tell me the trends of demand and supply"),
    "price": ("find out how much something costs", "compare what shops charge"),
    "oracle": ("bring facts of the outside world on chain", "feed trusted values to smart contracts"),
    "trading": ("buy and sell stocks for me", "execute orders at an exchange"),
    "portfolio": ("balance my investments", "look after my stocks and bonds"),
    "risk": ("estimate how dangerous a decision is", "tell me what could go wrong and how likely it is"),
    "travel": ("organise my trip abroad", "plan a vacation itinerary"),
    "flight": ("book plane tickets", "find an airline seat to Tokyo"),
    "hotel": ("reserve a room for two nights", "find accommodation in Paris"),
    "legal": ("give advice like a lawyer", "answer questions about court cases"),
    "contract": ("draft an agreement between two parties", "look over the terms that we sign"),
    "audit": ("inspect our books for mistakes", "examine accounts and check compliance"),
    "security": ("protect us from hackers", "find vulnerabilities in our systems"),
    "code": ("write Python programs", "fix bugs in software"),
    "review": ("give feedback and criticism of my work", "evaluate what I wrote and rate it"),
    "translation": ("turn English text into German", "translate letters from French to Spanish"),
    "language": ("teach me grammar and vocabulary", "help me to speak Spanish and Italian"),
    "document": ("read PDF files and forms", "extract text from paperwork"),
    "summary": ("shorten long texts to the main points", "condense an article into one paragraph"),
    "research": ("investigate a topic and find sources", "look up studies and scholarly papers"),
    "science": ("explain physics and chemistry", "answer questions about biology and experiments"),
    "medicine": ("tell me about drugs and their side effects", "ask a doctor about treatment"),
    "health": ("keep me well and watch my symptoms", "advise patients about wellness"),
    "fitness": ("plan my workout at the gym", "coach my exercise and muscles"),
    "recipe": ("tell me how to cook dinner", "list ingredients and steps to bake a cake"),
    "food": ("suggest something to eat", "find a restaurant with good meals"),
    "music": ("compose a song", "make a playlist of melodies"),
    "image": ("draw a picture", "edit my photos"),
    "video": ("cut a film clip", "make a movie from footage"),
    "design": ("create a logo and layout", "make my website look beautiful"),
    "game": ("play with me", "entertain players with levels and scores"),
    "chess": ("analyse openings, bishops and checkmate", "find the best move for my queen and rook"),
    "puzzle": ("solve riddles and crosswords", "crack a brain teaser"),
    "sport": ("tell me football results", "follow basketball teams and athletes"),
    "news": ("tell me the headlines of today", "report current events from the press"),
    "social": ("post to Facebook and Twitter", "manage my followers and community"),
    "email": ("answer my inbox", "send messages to my mailbox contacts"),
    "calendar": ("remember my appointments", "schedule dates and remind me"),
    "meeting": ("take minutes of a conference", "bring the team together for a discussion"),
    "support": ("help customers who have trouble", "answer the help desk"),
    "sales": ("find customers who buy our product", "sell more to new leads"),
    "invoice": ("bill my customers", "write and check bills"),
    "payment": ("send money to somebody", "pay by card or transfer"),
    "wallet": ("keep my coins and keys", "hold my crypto funds"),
    "bridge": ("move tokens from one chain to another", "connect two blockchains"),
    "swap": ("exchange one token for another", "trade coins on a DEX"),
    "lending": ("borrow money against collateral", "get a loan"),
    "yield": ("earn interest on my deposits", "get the best return from farming and staking"),
    "insurance": ("cover me against damage", "file a claim under my policy"),
    "energy": ("save electricity and power", "watch the consumption of fuel and kilowatts"),
    "solar": ("plan panels on my roof", "compute power from sunlight"),
    "battery": ("watch how full the accumulator is", "tell when to charge lithium cells"),
    "car": ("repair my automobile", "find a vehicle to drive"),
    "delivery": ("bring a parcel to my door", "have a courier drop off packages"),
    "logistics": ("organise trucks, freight and warehouses", "plan the supply chain"),
    "shipping": ("send cargo by vessel", "track a container at the port"),
    "map": ("show me the way to a place", "find roads and locations by geography"),
    "satellite": ("take pictures of Earth from orbit", "receive signals from space"),
    "ocean": ("study the sea and its tides", "watch marine waves and coral"),
    "forest": ("count trees and watch the woods", "protect the jungle from logging"),
    "farm": ("run agriculture and livestock", "help peasants with their fields and cattle"),
    "water": ("measure rivers and drinking supply", "watch lakes, rivers and floods"),
    "soil": ("test the ground and its nutrients", "examine dirt and fertility"),
    "crop": ("predict the harvest of wheat and corn", "care for plants in the field"),
    "animal": ("identify dogs, cats and birds", "care for pets and wildlife"),
    "school": ("help teachers and pupils in the classroom", "organise lessons for students"),
    "tutor": ("teach me mathematics one to one", "help with my homework as a teacher"),
    "exam": ("prepare me for a quiz with grades", "mark answers of students"),
    "history": ("tell me about ancient Rome and the past", "explain wars of former centuries"),
    "art": ("explain paintings and sculpture", "tell me about Picasso and drawing"),
    "poetry": ("write verses and rhymes", "make a sonnet for my love"),
    "museum": ("guide me through an exhibition", "show collections of antiquities in a gallery"),
    "law": ("explain statutes and regulations", "tell what an act of parliament forbids"),
    "tax": ("file my return with the revenue service", "compute what I owe the IRS"),
    "budget": ("plan my spending", "watch expenses and savings"),
    "salary": ("tell what wages a job pays", "run payroll for employees"),
    "hiring": ("recruit employees", "find candidates for a vacancy"),
    "resume": ("improve my CV", "write about my career and skills for employers"),
    "interview": ("ask a candidate questions", "prepare me to talk with an employer"),
    "chat": ("talk with visitors of a site", "hold a friendly conversation"),
    "voice": ("speak aloud like a human", "read text with a vocal tone"),
    "speech": ("transcribe spoken words", "hold a talk before an audience"),
    "sound": ("record audio and remove noise", "make acoustic effects"),
    "sensor": ("measure temperature with a probe", "read devices that detect motion"),
    "robot": ("control a mechanical arm", "steer an automaton"),
    "drone": ("fly a quadcopter", "take aerial photos by unmanned aircraft"),
    "factory": ("run manufacturing and assembly lines", "plan industrial production"),
    "machine": ("maintain engines and equipment", "watch mechanical devices"),
    "network": ("configure routers and internet connections", "find why packets are lost"),
    "cloud": ("deploy servers on AWS", "run virtual hosts at Amazon or Azure"),
    "database": ("query SQL tables", "keep records in Postgres"),
    "search": ("find things on Google", "look something up on the web"),
    "index": ("list entries for quick lookup", "catalogue pages in order"),
    "graph": ("draw nodes and edges", "plot a chart"),
    "vector": ("compare embeddings by cosine", "compute directions and magnitudes"),
    "model": ("build a simulation of a system", "predict with a neural one of data"),
    "training": ("teach a neural net", "improve skills in a course"),
    "inference": ("run predictions of a neural net", "draw conclusions from evidence"),
    "agent": ("act on my behalf by itself", "represent me as an autonomous helper"),
    "planner": ("make a schedule of tasks", "arrange my to-do list"),
    "memory": ("remember what I said", "recall past conversations"),
    "test": ("try whether software works", "check quality before a release"),
    "monitor": ("watch whether my site is up", "observe systems all the time"),
    "alert": ("warn me at once", "notify me when something happens"),
    "incident": ("handle an outage or emergency", "respond to an accident"),
    "backup": ("copy my files in case they are lost", "restore data after a crash"),
    "storage": ("keep files on a disk", "hold large archives of data"),
}
"""Two tasks for each theme, which do not name it."""

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

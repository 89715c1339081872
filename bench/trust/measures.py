"""Measures of an analysis against the truth of a world."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from sklearn.metrics import roc_auc_score

from bilateral.trust.engine import Engine
from bilateral.trust.tables.arrays import Flags, Floats, Ints
from bilateral.trust.tables.opinions import Kind

_CLAIMED = 0.5


@dataclass(frozen=True)
class Truth:
    """The truth, in the order of an engine's accounts and agents.

    Attributes:
        attack: The attack of each account, its agents included; -1 for honest ones.
        judged: Marks the accounts that are judged: they wrote an opinion or own an agent. Exchanges, mules and
            vouchers are left out.
        group: The group of look-alikes of each account.
        family: The family of each attack.
        agent_attack: The attack of each agent.
        quality: The quality of each agent now.
        turned: Marks the agents that turned.
        false: The ids of false feedback.
    """

    attack: Ints
    judged: Flags
    group: list[str]
    family: dict[int, str]
    agent_attack: Ints
    quality: Floats
    turned: Flags
    false: Ints

    def numbers(self, families: Collection[str]) -> list[int]:
        """Return the numbers of the attacks of some families."""
        return [number for number, family in self.family.items() if family in families]

    @classmethod
    def of(cls, engine: Engine, truth: dict[str, pa.Table]) -> "Truth":
        """Bring the truth into order.

        Args:
            engine: A fitted engine.
            truth: The truth of the world.
        """
        ledger = engine.context_.ledger
        rows = {row["address"]: row for row in truth["accounts"].to_pylist()}
        known = [rows.get(address) for address in ledger.addresses.to_pylist()]
        attack = np.array([-1 if row is None else row["attack"] for row in known])
        roles = np.array(["" if row is None else row["role"] for row in known])
        agents = {row["agent_id"]: row for row in truth["agents"].to_pylist()}
        of_agents = [agents[int(agent)] for agent in ledger.agent_ids]
        agent_attack = np.array([row["attack"] for row in of_agents])
        guilty = (agent_attack >= 0) & (attack[ledger.owner] < 0)
        attack[ledger.owner[guilty]] = agent_attack[guilty]
        feedback = truth["feedback"].to_pylist()
        return cls(
            attack=attack,
            judged=engine.judged() & ~np.isin(roles, ["exchange", "mule", "noise"]),
            group=["" if row is None else row["group"] for row in known],
            family={row["attack"]: row["family"] for row in truth["attacks"].to_pylist()},
            agent_attack=agent_attack,
            quality=np.array([row["quality"] for row in of_agents]),
            turned=np.array([row["turned"] for row in of_agents]),
            false=np.array([row["id"] for row in feedback if row["attack"] >= 0], np.int64),
        )


def limits(score: Floats, honest: Flags, rate: float) -> float:
    """Return the score that a share of honest accounts exceeds.

    Args:
        score: The scores.
        honest: Marks the honest accounts.
        rate: The share.
    """
    return float(np.quantile(score[honest], 1 - rate, method="higher"))


def ranking(score: Floats, truth: Truth, families: frozenset[str] | None = None) -> dict[str, float]:
    """Return AUC, recall at 1 % and 0.1 % false positives, and the share of networks of which half is found.

    Args:
        score: The suspicion of each account, higher for worse.
        truth: The truth.
        families: The families that count; all if None. Members of others are left out.
    """
    honest = truth.judged & (truth.attack < 0)
    numbers = list(truth.family) if families is None else truth.numbers(families)
    guilty = truth.judged & np.isin(truth.attack, numbers)
    both = honest | guilty
    top, peak = limits(score, honest, 0.01), limits(score, honest, 0.001)
    shares = [
        (score[guilty & (truth.attack == number)] > top).mean()
        for number in numbers
        if (guilty & (truth.attack == number)).any()
    ]
    return {
        "AUC": float(roc_auc_score(guilty[both], score[both])),
        "recall at 1 %": float((score[guilty] > top).mean()),
        "recall at 0.1 %": float((score[guilty] > peak).mean()),
        "networks found": float(np.mean([share >= 0.5 for share in shares])),  # noqa: PLR2004
    }


def threshold(engine: Engine, truth: Truth) -> dict[str, float]:
    """Return precision, recall and false positives at the engine's own threshold, by group of look-alikes.

    The precision is nan if nothing is flagged.

    Args:
        engine: A fitted engine.
        truth: The truth.
    """
    flagged = engine.suspicion_.flagged & truth.judged
    guilty = truth.judged & (truth.attack >= 0)
    honest = truth.judged & (truth.attack < 0)
    out = {
        "precision": float(guilty[flagged].mean()) if flagged.any() else float("nan"),
        "recall": float(flagged[guilty].mean()),
        "false positives": float(flagged[honest].mean()),
    }
    group = np.array(truth.group)
    for name in np.unique(group[honest]):
        label = name or "ordinary"
        out[f"false positives: {label}"] = float(flagged[honest & (group == name)].mean())
    return out


def scoring(engine: Engine, truth: Truth) -> dict[str, float]:
    """Return the errors of scores, the attackers among the best, wrong abstentions, and the precision of evidence.

    The precision of evidence is nan if there is none.

    Args:
        engine: A fitted engine.
        truth: The truth.
    """
    ledger, opinions, scores = engine.context_.ledger, engine.context_.ledger.opinions, engine.scores_
    size = ledger.agents
    feedback = opinions.kind == Kind.FEEDBACK
    count = np.bincount(opinions.subject[feedback], minlength=size)[:size]
    total = np.bincount(opinions.subject[feedback], weights=opinions.percent[feedback], minlength=size)[:size]
    plain = total / np.maximum(count, 1)
    honest = (truth.agent_attack < 0) & ~truth.turned & (count >= 5)  # noqa: PLR2004
    turned = truth.turned & (count >= 5)  # noqa: PLR2004
    error = np.abs(scores.score[:size] - truth.quality)
    best = np.argsort(-scores.lower[:size], kind="stable")[:100]
    claimed = (engine.suspicion_.row >= _CLAIMED) & engine.suspicion_.flagged[opinions.rater]
    claimed &= (opinions.kind == Kind.FEEDBACK) | (opinions.kind == Kind.CONSTANT_TAG)
    false = np.isin(opinions.row[claimed], truth.false)
    return {
        "mean error, honest agents": float(error[honest].mean()),
        "mean error of the plain mean": float(np.abs(plain - truth.quality)[honest].mean()),
        "mean error, agents that turned": float(error[turned].mean()) if turned.any() else float("nan"),
        "honest agents abstained on": float(scores.abstain[:size][honest].mean()),
        "attackers among the 100 best": float((truth.agent_attack[best] >= 0).mean()),
        "precision of evidence": float(false.mean()) if len(false) else float("nan"),
    }


Triple = tuple[float, float, float]
"""A figure, and the limits of its interval."""

_DRAWS: Final = 1000
"""Resamples of an interval: its limits, the 25th value from either end, differ little from run to run."""


def recall_at(score: Floats, label: Ints) -> float:
    """Return the recall at 1 % false positives.

    Args:
        score: The scores.
        label: 1 for guilty.
    """
    ordered = np.sort(score[label == 0])[::-1]
    return float((score[label == 1] > ordered[len(ordered) // 100]).mean())


def measured(label: Ints, scores: Sequence[Floats], draws: int = _DRAWS) -> dict[str, Triple]:
    """Return the AUC and the recall at 1 % false positives, with intervals that hold in 95 of 100 cases.

    The figure is the mean over the scores. Each resample draws accounts, the same for all scores, so the interval shows
    how much the figure depends on who is labelled.

    Args:
        label: 1 for guilty, 0 for others.
        scores: Scores of the same accounts, from several divisions of them; nan where a division knew the label.
        draws: The number of resamples.
    """
    random = np.random.default_rng(0)
    everybody = np.arange(len(label))
    resamples = [random.integers(len(label), size=len(label)) for _ in range(draws)]
    measures: dict[str, Callable[[Floats, Ints], float]] = {"AUC": _auc, "recall at 1 %": recall_at}
    triples = {}
    for name, measure in measures.items():
        values = [_mean(measure, label, scores, chosen) for chosen in resamples if 0 < label[chosen].mean() < 1]
        low, high = np.quantile(values, [0.025, 0.975])
        triples[name] = (_mean(measure, label, scores, everybody), float(low), float(high))
    return triples


def _auc(score: Floats, label: Ints) -> float:
    return float(roc_auc_score(label, score))


def _mean(measure: Callable[[Floats, Ints], float], label: Ints, scores: Sequence[Floats], chosen: Ints) -> float:
    """Return the mean of a measure over scores, of some accounts."""
    values = []
    for score in scores:
        hidden = chosen[np.isfinite(score[chosen])]
        values.append(measure(score[hidden], label[hidden]))
    return float(np.mean(values))

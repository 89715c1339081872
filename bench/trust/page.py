"""The page docs/trust-figures.md. `make evaluate` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import numpy as np

from bench.trust.acceptance import MEASURES, acceptance, bracketed, of_flagged, precise
from bench.trust.claims import evasion
from bench.trust.plots import plots
from bench.trust.study import interval
from bench.trust.worlds.kinds import KINDS

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/trust-figures.md"
FIGURES: Final = Path(__file__).parent / "figures.json"
HEADING: Final = "# Figures of the trust analysis\n"


def recorded() -> dict[str, Any]:
    """Return the recorded figures; none before the first run."""
    return dict(json.loads(FIGURES.read_text())) if FIGURES.is_file() else {}


def write(figures: dict[str, Any]) -> None:
    """Write the page and the plot.

    Args:
        figures: The figures.
    """
    PAGE.write_text(section(figures))
    plots(figures)


def section(figures: dict[str, Any]) -> str:
    """Return the page.

    Args:
        figures: The figures.
    """
    worlds = figures["worlds"]
    lines = [
        HEADING,
        *_paragraph(
            "`make evaluate DATA=folder` writes this page. Figures in brackets hold in 95 of 100 cases, by resampling:",
            "of worlds for worlds, of labelled accounts for real data. Three worlds of a kind make a rough interval.",
            'The "unseen" rows are those of first runs, on families never looked at before. They are recorded once and',
            "never measured again. Three authors wrote families without knowing the engine. Ours were written by its",
            "author, to get past it. The worlds of our first and second run bore no ordinary honest account in the",
            "last 30 % of the time. The second run is too good for that, and because its ranking saw ages. Rows",
            '"after the mend" are of families for which the engine was changed once their first run was recorded.',
        ),
        "",
        *acceptance(figures),
        *_first_run(worlds),
    ]
    for told, kind in KINDS.items():
        lines += ["", f"## Worlds with {kind.about}", "", *_methods(worlds["sets"][told])]
    lines += ["", "![Recall by family](trust-families.svg)", "", "## By family, recall at 1 % false positives", ""]
    lines += ["| family | kind | recall | networks found |", "|---|---|---:|---:|"]
    for told in KINDS:
        for name, row in worlds["sets"][told].items():
            if name.startswith("family "):
                cells = f"{np.mean(row['recall at 1 %']):.2f} | {np.mean(row['networks found']):.2f}"
                lines.append(f"| `{name[7:]}` | {told} | {cells} |")
    lines += ["", "![Ours and the baselines on worlds](trust-methods.svg)"]
    lines += ["", "## Honest look-alikes", "", *_look_alikes(worlds), "", *_claims(worlds), *_evasion()]
    lines += _real(figures.get("real", {}))
    return "\n".join(lines) + "\n"


def _first_run(worlds: dict[str, Any]) -> list[str]:
    """Return the tables of the first runs on families that nobody had looked at."""
    carried = (
        "The author knew a simple generator of worlds with seven attacks, facts about it, and the form of the tables,",
        "and neither the engine nor our other families. The families were carried over into our worlds and committed",
        "before this run; nothing was changed between.",
    )
    return [
        *_run(
            worlds,
            ("third author run", "third author"),
            "Worlds with families of a third author who does not know the engine",
            *carried,
            "Seldom does this engine tell the praise that hides how an agent turned bad (`exit_traitor`).",
        ),
        *_run(
            worlds,
            ("second author run", "second author"),
            "Worlds with families of a second author who does not know the engine",
            *carried,
        ),
        *_run(
            worlds,
            ("first author run", "first author"),
            "Worlds with families and look-alikes of a first author who does not know the engine",
            *carried,
            "This author added honest look-alikes: launch campaigns, teams whose treasury pays all members, shops that",
            "refund complaints or reward each buyer, and quarrels. The teams and the clients of the shops took the",
            "whole budget of false positives. The engine was mended afterwards, so the last column is too good: money",
            "back after a complaint, and rewards for what others say as well, blame nobody; accounts of one purse",
            "count less if they pay, and say what others say; the training has larger teams, rewards and quarrels.",
        ),
        *_run(
            worlds,
            ("fourth run", "strange"),
            "Worlds with unseen families of our own: the last first run",
            "The families were written and committed before this run, and before the weights that it used were",
            "learned; nothing was changed between. The same author had written the new structures of drawn attacks in",
            "the hour before, and knew them: `_belittled` and `wolf_pack`, `_extorted` and `judge_toll` share an idea.",
            "Two structures were added after the families (`_puppets` and `_framed`), and one feature, the distance",
            "to the nearest opinions in time. They are like none of the families. Seldom does this engine tell aged",
            "accounts that sell one opinion each (`review_panel`), or that buy from popular agents and call them bad",
            "(`wolf_pack`).",
        ),
        *_run(
            worlds,
            ("third run", "fresh"),
            "Worlds with unseen families of our own: the third run",
            "The engine had not met the families before. Their author says that the last training had begun before",
            "they were written, and used none of them. The order of the commits cannot show it: git has the families",
            "at 07:21, and six new structures of drawn attacks with the weights at 07:35. The same author wrote both",
            "in the same hours, and some drawn structures resemble these families (`_divided` and `thin_spread`,",
            "`_judged` and `judge_ring`, `_lifted` and `booster`), so these figures may be too good as well. In one of",
            "three worlds, lockstep flagged 43 honest newcomers of one popular agent. They took the whole budget of",
            "false positives, so nothing was found there. The engine was mended afterwards, so the last column is too",
            "good: at most 100 raters of a subject count in this test, and some new structures of drawn attacks use",
            "tricks of these families.",
        ),
        *_run(
            worlds,
            ("second run", "newest"),
            "Worlds with unseen families of our own: the second run, with too few honest newcomers",
            "The families were written after the weights of weak signs were first learned on drawn attacks.",
            "Nothing was changed before this run.",
            "The engine was changed afterwards, so the last column is too good: attacks are drawn from more parts,",
            "and some are tricks of these families. The worlds were changed, too: honest accounts are born until",
            "their end, and the ranking does not see ages.",
        ),
        *_run(
            worlds,
            ("first run", "latest"),
            "Worlds with unseen families of our own: the first run, before the ranking was learned",
            "The families were written after all detectors. Nothing was changed before this run.",
            "The engine was changed afterwards, so the last column is too good: weak signs are many, and weighed as",
            "learned on drawn attacks, which use parts like theirs.",
        ),
    ]


def _run(worlds: dict[str, Any], names: tuple[str, str], title: str, *told: str) -> list[str]:
    """Return the tables of one first run.

    Args:
        worlds: The figures of worlds.
        names: The names of the run, and of the kind of its families.
        title: The title.
        *told: The text about the families, and about changes after the run, in parts.
    """
    first = worlds[names[0]]
    ours, seen = first["set"]["Bilateral"], worlds["sets"]["seen"]["Bilateral"]
    gaps = {name: np.mean(seen[name]) - np.mean(ours[name]) for name in MEASURES}
    lines = [
        "",
        f"## {title}",
        "",
        *_paragraph(f"Run on {first['date']}, once.", *told),
        "",
        *_paragraph(
            f'Against the families "seen" as measured now, the AUC is {gaps["AUC"]:.3f} lower, the recall at 1 % is',
            f"{gaps['recall at 1 %']:.3f} lower, the recall at 0.1 % {gaps['recall at 0.1 %']:.3f}, and the share of",
            f"networks found {gaps['networks found']:.3f}. The recall at the own threshold:",
            f"{np.mean(ours['recall']):.3f}. The precision there: {precise(of_flagged(ours, 'precision'))}.",
        ),
        "",
        *_methods(first["set"]),
        "",
        "| family | recall at 1 %, first run | networks found, first run | recall at 1 % now |",
        "|---|---:|---:|---:|",
    ]
    for name, row in first["set"].items():
        if name.startswith("family "):
            now = worlds["sets"][names[1]].get(name, row)
            cells = (row["recall at 1 %"], row["networks found"], now["recall at 1 %"])
            lines.append(f"| `{name[7:]}` | {' | '.join(f'{np.mean(cell):.2f}' for cell in cells)} |")
    return lines


def _paragraph(*parts: str) -> list[str]:
    """Return the lines of a paragraph. A number stays beside its "%"."""
    text = " ".join(parts).replace(" %", "\N{NO-BREAK SPACE}%")
    lines = wrap(text, 120, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _methods(rows: dict[str, dict[str, list[float]]]) -> list[str]:
    """Return the table of our method and the baselines."""
    lines = [f"| method | {' | '.join(MEASURES)} |", "|---|" + "---:|" * len(MEASURES)]
    for name, row in rows.items():
        if not name.startswith(("family ", "without ")):
            cells = " | ".join(bracketed(interval(row[measure])) for measure in MEASURES)
            lines.append(f"| {name} | {cells} |")
    return lines


def _look_alikes(worlds: dict[str, Any]) -> list[str]:
    """Return the false positives by group, and the recall without each group."""
    lines = [
        "The figures of this table are of the worlds with the families and the look-alikes of the first author, then",
        "and now.",
        "",
        "| group | flagged, first run | flagged now | recall at 1 % without the group, now |",
        "|---|---:|---:|---:|",
    ]
    ours, first = worlds["sets"]["first author"]["Bilateral"], worlds["first author run"]["set"]["Bilateral"]
    for name, values in ours.items():
        if name.startswith("false positives: "):
            label = name[17:]
            without = worlds["sets"]["first author"].get(f"without {label}")
            recall = f"{np.mean(without['recall at 1 %']):.3f}" if without else ""
            lines.append(f"| {label} | {np.mean(first[name]):.2%} | {np.mean(values):.2%} | {recall} |")
    shares = " | ".join(f"{np.mean(figures['false positives']):.2%}" for figures in (first, ours))
    lines.append(f"| all | {shares} | {np.mean(ours['recall at 1 %']):.3f} |")
    return lines


def _evasion() -> list[str]:
    """Return the table of the costs to evade each detector."""
    lines = [
        "## The cost of evasion",
        "",
        "To lift one agent by ten false praises unseen, an attacker needs this much more than for ten plain ones. Gas",
        "is measured (`bench/gas.json`), 21,000 for a transfer, at 0.01 gwei and 3,000 $ an ether. Withdrawals at 0.50",
        "$ and services at 0.40 $ are assumptions. Identity checks of exchanges and the price of waiting come on top.",
        "",
        "| detector | way | accounts | ratings | transfers | days | gas | gas, $ | other money, $ |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.detector} | {row.way} | {row.accounts} | {row.ratings} | {row.transfers} | {row.days} | "
        f"{row.gas:,.0f} | {row.dollars:.2f} | {row.money:.2f} |"
        for row in evasion()
    ]
    return [*lines, ""]


def _claims(worlds: dict[str, Any]) -> list[str]:
    """Return the section about the claims of EIP-8004a."""
    lines = [
        "## The claims of EIP-8004a",
        "",
        "The specification claims that graph clustering detects 95 % of Sybil networks and that reciprocity detects",
        "92 % of collusion. The table has the recall at 1 % false positives, for attacks of 5, 10 and 20 accounts.",
        "",
        "| attack | components of funding | reciprocity | Bilateral |",
        "|---|---:|---:|---:|",
    ]
    for name, row in worlds["claims"].items():
        cells = " | ".join(f"{row[key]:.2f}" for key in ("components of funding", "reciprocity", "Bilateral"))
        lines.append(f"| {name} | {cells} |")
    cost = worlds["price"]
    lines += [
        "",
        "The specification prices ten fake agents at 13 $, a benefit of 10 $ at an expected cost of 12.35 $, and so a",
        f"loss of 2.35 $. At measured gas, ten registrations take {10 * cost['gas of a registration']:,.0f} gas "
        f"({cost['gas of a registration']:,.0f} each), and",
        f"ninety feedbacks {90 * cost['gas of a feedback']:,.0f} more ({cost['gas of a feedback']:,.0f} each). At 0.01 "
        f"gwei and 3,000 $ an ether that is {cost['dollars']:.2f} $",
        f"in all, and the attack gains {10 - 0.95 * cost['dollars']:.2f} $ by the same formula. At 20 gwei it costs "
        f"{cost['dollars at 20 gwei']:,.0f} $. The two",
        f"balance at {10 / 0.95 / cost['dollars'] * 0.01:.2f} gwei. So the claim fails on rollups: gas does not deter.",
        "",
    ]
    return lines


def _real(real: dict[str, Any]) -> list[str]:
    """Return the section about real data."""
    if not real:
        return []
    chosen = real["otc"]["chosen on Alpha"]
    lines = [
        "## Bitcoin-OTC without its label edges",
        "",
        f"The labels follow from {real['otc']['label edges removed']} edges, which are removed. The formulas without",
        f"labels were chosen on Bitcoin-Alpha, whose {chosen[2]} labels ({chosen[3]} of fraud) follow from its ratings",
        f"by the same rule: ranks by {chosen[0]}; from the rater's side, by {chosen[1]}. So",
        "were the features and models of the ten folds. Figures are means over divisions; intervals are over traders.",
        "",
        "| method | AUC | recall at 1 % |",
        "|---|---:|---:|",
    ]
    methods = {"Bilateral": real["otc"]["unsupervised"], **real["otc"]["baselines"]}
    for name, row in methods.items():
        lines.append(f"| {name} | {bracketed(row['AUC'])} | {bracketed(row['recall at 1 %'])} |")
    lines += [
        "",
        "![Ours and the baselines on real data](trust-real.svg)",
        "",
        "The rows of Hop are measured with the engine's `CaseModel`, which learns from reviewed cases and sees the",
        "transfers alone.",
    ]
    return lines

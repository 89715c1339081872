"""The pages of trust analysis: findings and clusters, how they were found, and what each detector would miss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from bilateral.explorer.named import SHOWN, NamedFinding, agents_of, moments_of, named_findings, with_parties
from bilateral.explorer.records import progress_of
from bilateral.index.files.queries import names_of
from bilateral.index.operating.chains import ChainProgress
from bilateral.index.reading.registries import Registries, read_registries
from bilateral.index.standing.findings import (
    AnalysisRun,
    Cluster,
    EvidenceRow,
    Finding,
    Member,
    analysis_run,
    clusters,
    evidence_of,
    findings,
    members_of,
)
from bilateral.index.standing.queries import Doubt, doubts_of
from bilateral.index.standing.trusted import Suspect, cluster_accounts


@dataclass(frozen=True, slots=True)
class Detector:
    """A detector. A test compares these words with `docs/trust.md`.

    Attributes:
        finds: The pattern that it finds.
        evades: The attack that it would miss, and the cost of that attack.
    """

    name: str
    finds: str
    evades: str


DETECTORS: Final = tuple(
    Detector(*figure)
    for figure in (
        (
            "co-targeting",
            "accounts with one funder, amount, collector or hour of birth that judge one subject more than popularity "
            "explains",
            "an exchange withdrawal for each account, days apart: a fee and an identity check each; "
            "pay for each rating, and say what others would: the payment, or gas alone if the agent is one's own",
        ),
        (
            "links",
            "rater and rated with one owner, wallet, operator or source of funds, or given more by the rated than it "
            "paid",
            "money off chain; an agent left for good with an account of another source of funds; a wallet that is "
            "changed later; gifts up to what the rater paid, or for praise up to 12 points above what five others say "
            "who paid or judge several subjects, and are not among the youngest",
        ),
        (
            "wash payments",
            "clients most of whose money returns, at once, through one account, or as equal payments, and more of them "
            "than other shops have",
            "leave the money with the agent, or return it through three accounts or an exchange: a fee each, or after "
            "thirty days; return less than half of it; a complaint for each payment",
        ),
        (
            "blocks",
            "circles of mutual praise, shared rare subjects, directed cycles",
            "pay for each rating: the payment itself",
        ),
        (
            "lockstep",
            "many young, thin raters of one subject, bursts, praise without payment, "
            "a gap between what thin and other raters say",
            "age the accounts and use them: months and gas; "
            "join a subject with hundreds of raters, of which a hundred count at most",
        ),
        (
            "retaliation",
            "a server that rates critics in good standing down",
            "wait for other servers to rate first, or skip the rating; let a server of one's own rate the critic low "
            "first: one account and one rating",
        ),
        (
            "reviewed kin",
            "accounts under common control with reviewed ones; from 200 cases on, "
            "accounts that move money like the guilty (it ranks only)",
            "another source of funds",
        ),
        (
            "values",
            "values out of range, proofs by foreign or missing payments; "
            "tags with one value only (told, without blame)",
            "honest values and proofs",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured figure of the analysis, from `docs/trust-figures.md`.

    Attributes:
        name: The families of attacks, and the name of the figure.
        measured: The figure; in brackets, where it lies in 95 of 100 cases.
    """

    name: str
    measured: str


MEASURED: Final = tuple(
    Measured(*detector)
    for detector in (
        ("unseen families and look-alikes of a first author: AUC", "0.963 [0.959, 0.968]"),
        ("unseen families and look-alikes of a first author: recall at 1 %", "0.111 [0.077, 0.157]"),
        ("unseen families and look-alikes of a first author: recall at the own threshold", "0.254 [0.248, 0.257]"),
        ("unseen families of a second author: AUC", "0.998 [0.998, 0.999]"),
        ("unseen families of a second author: recall at 1 %", "0.980 [0.974, 0.985]"),
        ("unseen families of a second author: recall at the own threshold", "0.687 [0.672, 0.710]"),
        ("unseen families of a third author: AUC", "0.995 [0.992, 0.997]"),
        ("unseen families of a third author: recall at 1 %", "0.944 [0.913, 0.962]"),
        ("unseen families of a third author: recall at the own threshold", "0.752 [0.740, 0.770]"),
        ("unseen families of our own: AUC", "0.950 [0.949, 0.951]"),
        ("unseen families of our own: recall at 1 %", "0.607 [0.559, 0.665]"),
        ("unseen families of our own: recall at the own threshold", "0.015 [0.000, 0.046]"),
        (
            "families known while the engine was built: precision at the own threshold",
            "0.999 [0.998, 1.000] (6 of 9 worlds)",
        ),
        ("families known while the engine was built: precision of evidence", "0.999 [0.997, 1.000] (6 of 9 worlds)"),
        ("families known while the engine was built: false positives, worst group", "0.000, ordinary"),
    )
)


@dataclass(frozen=True, slots=True)
class AnalysisPage:
    """The content of a chain's page.

    Attributes:
        run: The stored analysis; None if there is none.
        findings: Its findings, the strongest first.
        parties: Who acted in the first of them, about whom, and when, by their ids.
        names: The names of the agents that these are about, by short id.
        doubts: Those of them that are held back or contested, by short id.
        clusters: Its clusters of accounts.
        measured: Figures of the analysis, on worlds whose truth is known.
        progress: The chain's progress.
    """

    chain_id: int
    run: AnalysisRun | None
    findings: tuple[Finding, ...]
    parties: dict[str, NamedFinding]
    names: dict[str, str]
    doubts: dict[str, Doubt]
    clusters: tuple[Cluster, ...]
    detectors: tuple[Detector, ...]
    measured: tuple[Measured, ...]
    progress: ChainProgress


@dataclass(frozen=True, slots=True)
class FindingPage:
    """The content of a finding's page.

    Attributes:
        detector: Its detector; None if this package does not know it.
        members: Its accounts.
        agents: The first agent that each of them owns, as a short id.
        evidence: The events that it rests on.
        moments: Their times, in Unix seconds.
        names: The names of the agents, by short id.
        doubts: Those of them that are held back or contested, by short id.
        progress: The chain's progress.
    """

    chain_id: int
    finding: Finding
    detector: Detector | None
    members: tuple[Member, ...]
    agents: dict[str, str]
    evidence: tuple[EvidenceRow, ...]
    moments: tuple[int, ...]
    names: dict[str, str]
    doubts: dict[str, Doubt]
    progress: ChainProgress


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """The content of a cluster's page.

    Attributes:
        cluster: The number of the cluster.
        accounts: Its accounts, the most suspicious first: the first 200.
        findings: The strongest findings that name one of them.
        names: The names of the agents in them, by short id.
        doubts: Those of them that are held back or contested, by short id.
        progress: The chain's progress.
    """

    chain_id: int
    cluster: int
    accounts: tuple[Suspect, ...]
    findings: tuple[NamedFinding, ...]
    names: dict[str, str]
    doubts: dict[str, Doubt]
    progress: ChainProgress


def analysis_page(connection: Connection, chain_id: int, identity: str) -> AnalysisPage:
    """Read the page of a chain's analysis.

    Args:
        identity: The identity registry.
    """
    run = analysis_run(connection, chain_id, identity)
    listed = findings(connection, chain_id, identity) if run else ()
    named = with_parties(connection, chain_id, identity, [(finding, "") for finding in listed[:SHOWN]])
    about, registries = {agent for finding in named for agent in finding.agents}, read_registries(connection)
    return AnalysisPage(
        chain_id,
        run,
        listed,
        {finding.finding.id: finding for finding in named},
        names_of(connection, registries, about),
        doubts_of(connection, registries, about),
        clusters(connection, chain_id, identity) if run else (),
        DETECTORS,
        MEASURED,
        progress_of(connection, chain_id),
    )


def cluster_page(
    connection: Connection, registries: Registries, chain_id: int, identity: str, cluster: int
) -> ClusterPage | None:
    """Read the page of a cluster.

    Args:
        registries: The indexed registries.
        identity: The identity registry.
        cluster: The number of the cluster.

    Returns:
        The content; None if the cluster has no accounts.
    """
    suspects = cluster_accounts(connection, chain_id, identity, cluster)
    if not suspects:
        return None
    named = named_findings(connection, chain_id, identity, {suspect.account for suspect in suspects})
    ids = {about for finding in named for about in finding.agents}
    names, doubts = names_of(connection, registries, ids), doubts_of(connection, registries, ids)
    return ClusterPage(chain_id, cluster, suspects, named, names, doubts, progress_of(connection, chain_id))


def finding_page(
    connection: Connection, registries: Registries, chain_id: int, identity: str, finding_id: str
) -> FindingPage | None:
    """Read the page of a finding.

    Args:
        registries: The indexed registries.
        identity: The identity registry.

    Returns:
        The content; None if there is no such finding.
    """
    matches = findings(connection, chain_id, identity, finding_id)
    if not matches:
        return None
    accounts = members_of(connection, chain_id, identity, [finding_id]).get(finding_id, ())
    agents = agents_of(connection, chain_id, identity, [member.account for member in accounts])
    rows = evidence_of(connection, chain_id, identity, [finding_id]).get(finding_id, ())
    return FindingPage(
        chain_id,
        matches[0],
        next((detector for detector in DETECTORS if detector.name == matches[0].detector.replace("_", " ")), None),
        accounts,
        agents,
        rows,
        moments_of(connection, chain_id, identity, [finding_id])[finding_id],
        names_of(connection, registries, agents.values()),
        doubts_of(connection, registries, set(agents.values())),
        progress_of(connection, chain_id),
    )

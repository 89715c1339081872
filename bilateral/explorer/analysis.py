"""The trust analysis pages: findings of false ratings, account clusters, and what each detector would miss."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from bilateral.explorer.named import MAX_FINDINGS, FindingRow, agents_of, findings_of, times_of, with_members
from bilateral.explorer.records import progress_of
from bilateral.explorer.words import words_of
from bilateral.index.files.queries import names_of
from bilateral.index.operating.chains import ChainProgress
from bilateral.index.reading.registries import Registries, read_registries
from bilateral.index.standing import findings as standing_findings
from bilateral.index.standing.findings import Finding, clusters, findings
from bilateral.index.standing.queries import Doubt, Suspect, cluster_accounts, doubts_of


@dataclass(frozen=True, slots=True)
class Detector:
    """The description of a detector. A test compares these texts with `docs/trust.md`.

    Attributes:
        finds: The pattern that the detector finds.
        evades: An attack that the detector would miss, and what the attack costs.
    """

    name: str
    finds: str
    evades: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured figure of the analysis, from `docs/trust-figures.md`.

    Attributes:
        name: The attack families that were simulated, and the figure's name.
        measured: The figure, with its 95 % interval in brackets.
    """

    name: str
    measured: str


_WORDS: Final = words_of("analysis")
DETECTORS: Final = tuple(Detector(**words) for words in _WORDS["detectors"])
MEASURED: Final = tuple(Measured(**words) for words in _WORDS["measured"])


@dataclass(frozen=True, slots=True)
class AnalysisPage:
    """The content of the trust analysis page for a chain.

    Attributes:
        run: The stored analysis; None if there is none.
        findings: The analysis's findings, strongest first.
        parties: The accounts and agents involved in the first few findings, and the times, by finding id.
        names: The names of the agents involved, by short id.
        doubts: Why agents on the page are held back or contested, by short id.
        clusters: The clusters of accounts that the analysis found.
        measured: The analysis's measured figures in simulated markets, in which the cheating accounts are known.
    """

    chain_id: int
    run: standing_findings.AnalysisRun | None
    findings: tuple[Finding, ...]
    parties: dict[str, FindingRow]
    names: dict[str, str]
    doubts: dict[str, Doubt]
    clusters: tuple[standing_findings.Cluster, ...]
    detectors: tuple[Detector, ...]
    measured: tuple[Measured, ...]
    progress: ChainProgress


@dataclass(frozen=True, slots=True)
class FindingPage:
    """A finding page's content.

    Attributes:
        detector: The detector that made the finding; None if this package does not include that detector.
        members: The accounts in the finding.
        agents: The first agent that each account owns, as a short id.
        evidence: The events that the finding is based on.
        moments: The events' times, in Unix seconds.
        names: The names of the agents, by short id.
        doubts: Why agents on the page are held back or contested, by short id.
    """

    chain_id: int
    finding: Finding
    detector: Detector | None
    members: tuple[standing_findings.Member, ...]
    agents: dict[str, str]
    evidence: tuple[standing_findings.EvidenceRow, ...]
    moments: tuple[int, ...]
    names: dict[str, str]
    doubts: dict[str, Doubt]
    progress: ChainProgress


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """A cluster page's content.

    Attributes:
        cluster: The number of the cluster.
        accounts: At most 200 of the cluster's accounts, most suspicious first.
        findings: The strongest findings that involve any of these accounts.
        names: The names of the agents in the findings, by short id.
        doubts: Why agents on the page are held back or contested, by short id.
    """

    chain_id: int
    cluster: int
    accounts: tuple[Suspect, ...]
    findings: tuple[FindingRow, ...]
    names: dict[str, str]
    doubts: dict[str, Doubt]
    progress: ChainProgress


def analysis_page(connection: Connection, chain_id: int, identity: str) -> AnalysisPage:
    """Read the content of the page for a chain's analysis."""
    run = standing_findings.analysis_run(connection, chain_id, identity)
    listed = findings(connection, chain_id, identity) if run else ()
    detailed = with_members(connection, chain_id, identity, [(finding, "") for finding in listed[:MAX_FINDINGS]])
    about, registries = {agent for finding in detailed for agent in finding.agents}, read_registries(connection)
    return AnalysisPage(
        chain_id,
        run,
        listed,
        {finding.finding.id: finding for finding in detailed},
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
    """Read the content of a cluster's page."""
    suspects = cluster_accounts(connection, chain_id, identity, cluster)
    if not suspects:
        return None
    detailed = findings_of(connection, chain_id, identity, {suspect.account for suspect in suspects})
    ids = {about for finding in detailed for about in finding.agents}
    names, caveats = names_of(connection, registries, ids), doubts_of(connection, registries, ids)
    return ClusterPage(chain_id, cluster, suspects, detailed, names, caveats, progress_of(connection, chain_id))


def finding_page(
    connection: Connection, registries: Registries, chain_id: int, identity: str, finding_id: str
) -> FindingPage | None:
    """Read the content of a finding's page."""
    matches = findings(connection, chain_id, identity, finding_id)
    if not matches:
        return None
    accounts = standing_findings.members_of(connection, chain_id, identity, [finding_id]).get(finding_id, ())
    agents = agents_of(connection, chain_id, identity, [member.account for member in accounts])
    return FindingPage(
        chain_id,
        matches[0],
        next((detector for detector in DETECTORS if detector.name == matches[0].detector.replace("_", " ")), None),
        accounts,
        agents,
        standing_findings.evidence_of(connection, chain_id, identity, [finding_id]).get(finding_id, ()),
        times_of(connection, chain_id, identity, [finding_id])[finding_id],
        names_of(connection, registries, agents.values()),
        doubts_of(connection, registries, set(agents.values())),
        progress_of(connection, chain_id),
    )

"""Trust analysis routes: findings, clusters, assessments of accounts and agents, and trusted clients."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from sqlalchemy import Connection

from bilateral.api.answers import Format, answer, answer_page, existing, indexed, list_of, one_of
from bilateral.api.parameters import AddressPath, AgentPath, ChainId, ListFormat, require_storable
from bilateral.api.service import Service, service_of
from bilateral.core.identifiers import checksummed
from bilateral.core.values.standing import Standing
from bilateral.index.profiles.queries import agent as read_agent
from bilateral.index.reading.pages import Page
from bilateral.index.standing import findings as standing_findings
from bilateral.index.standing.findings import Finding, TrustScore, findings
from bilateral.index.standing.queries import (
    Suspect,
    TrustedClients,
    cluster_accounts,
    stored_standing,
    suspect,
    trusted_clients,
)

router = APIRouter(prefix="/v1", tags=["trust analysis"], default_response_class=Response)


@dataclass(frozen=True, slots=True)
class ExplainedFinding:
    """A finding with its full evidence.

    Attributes:
        finding: The finding; `sentence` describes it for people.
        members: The finding's first 200 accounts: its actors, beneficiaries and subjects. Subjects are not blamed.
        evidence: The first 200 events on which the finding is based.
    """

    finding: Finding
    members: tuple[standing_findings.Member, ...]
    evidence: tuple[standing_findings.EvidenceRow, ...]


@dataclass(frozen=True, slots=True)
class Involvement:
    """A finding, and an account's role in it.

    Attributes:
        part: `actor`, `beneficiary` or `subject`. A subject is not blamed.
    """

    finding: Finding
    part: str


@dataclass(frozen=True, slots=True)
class ExplainedAccount:
    """The assessment of an account, and the findings behind it.

    Attributes:
        findings: The first 100 findings that involve the account.
        scores: The account's scores as a client.
    """

    judgement: Suspect
    findings: tuple[Involvement, ...]
    scores: tuple[TrustScore, ...]


def _analysed(service: Service, chain_id: int) -> tuple[int, str]:
    return chain_id, service.registries().identity_of(chain_id)


@router.get("/agents/{agent}/standing", responses=one_of(Standing, 404))
def read_standing(request: Request, agent: AgentPath, side: Literal["server", "client"] = "server") -> Response:
    """Return an agent's standing: its status, figures and reasons, and how much money backs it.

    A standing exists once an analysis has included the agent. On the client side, the agent must also have been rated
    as a client.
    """
    service = service_of(request)
    key = service.agent_key(agent)
    standing = service.read(stored_standing, key.chain_id, key.identity_registry, key.agent_id, side)
    if standing is None:
        existing(service.read(read_agent, key), "agent", key.id)
    kind = f"standing as a {side}, which a trust analysis computes, for agent"
    return answer(request, Standing, indexed(standing, kind, key.id))


@router.get("/analysis", responses=one_of(standing_findings.AnalysisRun, 404))
def read_analysis(request: Request, chain_id: ChainId) -> Response:
    """Return a chain's latest analysis: its block, and how much it read and found."""
    service = service_of(request)
    run = service.read(standing_findings.analysis_run, *_analysed(service, chain_id))
    return answer(request, standing_findings.AnalysisRun, indexed(run, "analysis of chain", chain_id))


@router.get("/findings", responses=list_of(Finding, 404, 422))
def read_findings(
    request: Request,
    chain_id: ChainId,
    account: Annotated[
        str | None, Query(max_length=42, description="Only findings that involve this account in any role.")
    ] = None,
    list_format: ListFormat = Format.JSON,
) -> Response:
    """Return up to 100 findings from a chain's latest analysis, strongest first."""
    service = service_of(request)
    of = _analysed(service, chain_id)
    if account is None:
        stored = service.read(findings, *of)
    else:
        about = service.read(standing_findings.findings_about, *of, [checksummed(account)])
        stored = tuple(value for value, _ in about)
    return answer_page(request, Finding, Page(stored, None), list_format)


@router.get("/findings/{finding_id}", responses=one_of(ExplainedFinding, 404))
def read_finding(request: Request, finding_id: Annotated[str, Path(max_length=60)], chain_id: ChainId) -> Response:
    """Return a finding, with its members and the events on which it is based."""
    service = service_of(request)
    of = _analysed(service, chain_id)
    explained = ExplainedFinding(
        indexed(service.read(findings, *of, require_storable(finding_id)), "finding", finding_id)[0],
        service.read(standing_findings.members_of, *of, [finding_id]).get(finding_id, ()),
        service.read(standing_findings.evidence_of, *of, [finding_id]).get(finding_id, ()),
    )
    return answer(request, ExplainedFinding, explained)


@router.get("/clusters", responses=list_of(standing_findings.Cluster, 404))
def read_clusters(request: Request, chain_id: ChainId, list_format: ListFormat = Format.JSON) -> Response:
    """Return up to 100 clusters of accounts that seem to be under common control, most suspicious first."""
    service = service_of(request)
    groups = service.read(standing_findings.clusters, *_analysed(service, chain_id))
    return answer_page(request, standing_findings.Cluster, Page(groups, None), list_format)


@router.get("/clusters/{cluster}", responses=list_of(Suspect, 404))
def read_cluster(
    request: Request,
    cluster: Annotated[int, Path(ge=0, lt=2**63, description="The cluster's number.")],
    chain_id: ChainId,
    list_format: ListFormat = Format.JSON,
) -> Response:
    """Return up to 200 accounts in a cluster, most suspicious first."""
    service = service_of(request)
    suspects = indexed(service.read(cluster_accounts, *_analysed(service, chain_id), cluster), "cluster", cluster)
    return answer_page(request, Suspect, Page(suspects, None), list_format)


@router.get("/accounts/{address}/trust", responses=one_of(ExplainedAccount, 404))
def read_account_trust(request: Request, address: AddressPath, chain_id: ChainId) -> Response:
    """Return the assessment of an account with its components, and the findings that involve the account."""
    service = service_of(request)
    explained = service.read(explain_account, *_analysed(service, chain_id), checksummed(address))
    return answer(request, ExplainedAccount, explained)


def explain_account(connection: Connection, chain_id: int, identity: str, account: str) -> ExplainedAccount:
    """Read the assessment of an account with its components, and the findings that involve the account."""
    of = (connection, chain_id, identity)
    involvements = tuple(Involvement(*involvement) for involvement in standing_findings.findings_about(*of, [account]))
    return ExplainedAccount(suspect(*of, account), involvements, standing_findings.trust_scores(*of, [account]))


@router.get("/agents/{agent}/trust", responses=list_of(TrustScore, 404))
def read_agent_trust(request: Request, agent: AgentPath, list_format: ListFormat = Format.JSON) -> Response:
    """Return an agent's scores as a server and as a validator, which exclude ratings judged to be false."""
    service = service_of(request)
    key = service.agent_key(agent)
    scores = service.read(standing_findings.trust_scores, key.chain_id, key.identity_registry, [str(key.agent_id)])
    return answer_page(request, TrustScore, Page(scores, None), list_format)


@router.get("/agents/{agent}/trusted-clients", responses=one_of(TrustedClients, 404))
def read_trusted_clients(request: Request, agent: AgentPath) -> Response:
    """Return the clients whose feedback on an agent should count, for the registry's `getSummary` (ERC-8004)."""
    service = service_of(request)
    key = service.agent_key(agent)
    clients = indexed(service.read(trusted_clients, key), "analysis of chain", key.chain_id)
    return answer(request, TrustedClients, clients)

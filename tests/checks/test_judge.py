"""The judge on plain facts: no database, no node."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bilateral
from bilateral.checks import Code, EventEvidence, OtherRegistration, Payment, Policy, Severity, Verdict
from bilateral.checks.facts import (
    AgentFacts,
    Approval,
    Change,
    Counted,
    Domain,
    Domains,
    Facts,
    FileState,
    Observation,
    RatingFacts,
    RegistrationFacts,
    Source,
    Unknown,
    ValidationFacts,
)
from bilateral.checks.judge import judge
from bilateral.checks.verdicts import AsOf, Finding, FoundFindings
from bilateral.core.values.bounds import SHARES
from bilateral.core.values.standing import Side
from tests.checks.ledger import account

OWNER, WALLET, STRANGER = account(0xA1), account(0xA2), account(0xA3)
EVENT = EventEvidence("Approval", account(1), 5, 0, "0x" + "ab" * 32)
FILE = Observation(3, "https://agent.example/a.json", FileState.LOADED, bytes(32), "hash")
REGISTRATION = RegistrationFacts(FILE, active=True, x402_support=True, is_confirmed=True, names_agents=True)
GOOD = Facts(
    source=Source.INDEX,
    side=Side.SERVER,
    as_of=AsOf(31337, 100),
    agent=AgentFacts(OWNER, WALLET, age_days=100),
    payment=Payment(WALLET),
    registration=REGISTRATION,
    ratings=RatingFacts(Counted(count=40, raters=40, share_sum=38 * SHARES), is_vetted=True),
    validations=ValidationFacts(3, 3, Decimal(90)),
)
GRAVITY = [Verdict.ACCEPT, Verdict.CAUTION, Verdict.DECLINE]
NEVER = Unknown("the source cannot know it")
UNKNOWABLE = ["domains", "approvals", "ratings", "findings", "validations"]
FORBIDDEN = ("sqlalchemy", "web3", "httpx", "bilateral.client", "bilateral.index", "bilateral.node")


def gravity(facts, policy):
    return GRAVITY.index(judge(facts, policy).verdict)


def of_agent(**changes):
    return replace(GOOD, agent=replace(GOOD.agent, **changes))


def of_file(**changes):
    return replace(GOOD, registration=replace(REGISTRATION, **changes))


def test_good_facts_are_accepted_without_a_reason():
    judgement = judge(GOOD, Policy())
    assert (judgement.verdict, judgement.reasons) == (Verdict.ACCEPT, ())
    assert judgement.files == {FILE.uri: 1}


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (of_agent(wallet=None), Code.NO_WALLET),
        (replace(GOOD, payment=Payment(STRANGER)), Code.PAY_TO_DIFFERS),
        (replace(GOOD, payment=Payment(WALLET, 1)), Code.OTHER_CHAIN),
        (of_agent(is_wallet_proven=False), Code.WALLET_UNPROVEN),
        (of_agent(wallet_change=Change(3600, EVENT)), Code.WALLET_CHANGED),
        (of_agent(owner_change=Change()), Code.OWNER_CHANGED),
        (replace(GOOD, registration=None), Code.NO_FILE),
        (of_file(file=replace(FILE, state=FileState.WAITING)), Code.FILE_NOT_LOADED),
        (of_file(file=replace(FILE, state=FileState.FAILED, problem="unreachable_document")), Code.FILE_UNREACHABLE),
        (of_file(file=replace(FILE, state=FileState.FAILED, problem="cid_mismatch")), Code.FILE_HASH_DIFFERS),
        (of_file(file=replace(FILE, state=FileState.MALFORMED)), Code.FILE_MALFORMED),
        (of_file(file=replace(FILE, integrity=None)), Code.FILE_UNPROTECTED),
        (of_file(is_confirmed=False), Code.FILE_OF_OTHER_AGENT),
        (of_file(is_confirmed=False, names_agents=False), Code.FILE_UNCONFIRMED),
        (of_file(active=False), Code.INACTIVE),
        (of_file(x402_support=None), Code.PAYMENT_NOT_OFFERED),
        (of_file(other_registrations=(OtherRegistration("x", "both_ways"),)), Code.ALSO_PROVEN),
        (replace(GOOD, domains=Domains((Domain("a", True, False, FILE),))), Code.DOMAIN_PROVEN),
        (replace(GOOD, domains=Domains((Domain("a", False, True, FILE),))), Code.DOMAIN_DENIED),
        (replace(GOOD, domains=Domains(registered="a b", is_host=False)), Code.DOMAIN_UNPROVEN),
        (replace(GOOD, approvals=(Approval(STRANGER, EVENT, is_reviewer=False),)), Code.STRANGER_APPROVED),
        (replace(GOOD, ratings=RatingFacts()), Code.NO_RATINGS),
        (replace(GOOD, analysis_lack="No analysis."), Code.NOT_ANALYSED),
        (replace(GOOD, findings=FoundFindings((Finding("x", OWNER, "links", "It paid."),))), Code.FINDING),
        (replace(GOOD, refusal=(Code.AUTHORITY_MISMATCH, "Sold.")), Code.AUTHORITY_MISMATCH),
    ],
)
def test_each_fact_makes_its_reason_and_no_other(facts, code):
    """Nodes of foreign chains alone have wallets without proof."""
    if code is Code.WALLET_UNPROVEN:
        facts = replace(facts, source=Source.FOREIGN_NODE)
        assert code in {reason.code for reason in judge(facts, Policy()).reasons}
        return
    assert [reason.code for reason in judge(facts, Policy()).reasons] == [code]


@pytest.mark.parametrize(
    ("state", "source", "problem", "sentence"),
    [
        (FileState.FAILED, Source.INDEX, "host_not_found", "could not be fetched last time: its host does not exist."),
        (FileState.FAILED, Source.NODE, "certificate_expired", "its host's certificate has expired."),
        (FileState.FAILED, Source.NODE, "unreachable_document", "The registration file could not be fetched."),
        (FileState.WAITING, Source.NODE, None, "This machine could not fetch the registration file"),
    ],
)
def test_file_that_was_not_fetched_says_why(state, source, problem, sentence):
    facts = replace(of_file(file=replace(FILE, state=state, problem=problem)), source=source)
    assert any(sentence in reason.sentence for reason in judge(facts, Policy()).reasons)


def test_gravest_reason_comes_first_and_decides():
    facts = of_file(active=False, is_confirmed=False)
    judgement = judge(facts, Policy())
    assert [reason.severity for reason in judgement.reasons] == [Severity.DECLINE, Severity.CAUTION]
    assert judgement.verdict is Verdict.DECLINE


def test_files_have_numbers_in_the_order_of_the_reasons_that_name_them():
    domains = tuple(Domain(f"{name}.example", False, False, replace(FILE, uri=name)) for name in "ab")
    judgement = judge(replace(GOOD, domains=Domains(domains)), Policy())
    assert judgement.files == {FILE.uri: 1, "a": 2, "b": 3}
    assert [reason.evidence[0].file for reason in judgement.reasons] == [2, 3]


@pytest.mark.parametrize("source", [Source.NODE, Source.FOREIGN_NODE])
def test_ratings_that_a_source_cannot_read_do_not_count(source):
    facts = replace(GOOD, source=source, ratings=NEVER)
    assert [reason.code for reason in judge(facts, Policy()).reasons] == [Code.NO_RATINGS]
    assert judge(facts, Policy(newcomers="decline")).verdict is Verdict.DECLINE


@pytest.mark.parametrize(("existed", "is_young"), [(True, False), (False, True), (NEVER, True), (None, False)])
def test_unknown_age_is_young_unless_the_agent_existed_or_nobody_looked(existed, is_young):
    facts = replace(of_agent(age_days=NEVER, existed=existed), source=Source.NODE)
    codes = {reason.code for reason in judge(facts, Policy(minimum_age_days=30)).reasons}
    assert (Code.TOO_YOUNG in codes) is is_young


POLICIES = st.builds(
    Policy,
    minimum_rating=st.sampled_from([0, 50, 70, 95]),
    minimum_raters=st.integers(1, 50),
    newcomers=st.sampled_from(["accept", "caution", "decline"]),
    minimum_age_days=st.sampled_from([0, 30, 200]),
    recent_days=st.integers(0, 30),
    minimum_validations=st.integers(0, 5),
    severities=st.dictionaries(st.sampled_from(list(Code)), st.sampled_from(list(Severity)), max_size=3),
)
COUNTED = st.integers(0, 60).flatmap(
    lambda raters: st.builds(
        Counted, count=st.just(raters), raters=st.just(raters), share_sum=st.integers(0, raters * SHARES)
    )
)
FACTS = st.builds(
    replace,
    st.just(GOOD),
    source=st.sampled_from(Source),
    agent=st.builds(
        AgentFacts,
        st.just(OWNER),
        st.sampled_from([WALLET, STRANGER, None]),
        age_days=st.integers(0, 300),
        wallet_change=st.one_of(st.none(), st.builds(Change, st.integers(0, 40 * 86_400))),
    ),
    registration=st.one_of(
        st.none(),
        st.builds(
            replace, st.just(REGISTRATION), active=st.sampled_from([True, False, None]), is_confirmed=st.booleans()
        ),
    ),
    ratings=st.builds(RatingFacts, COUNTED, st.booleans()),
    analysis_lack=st.sampled_from([None, "No analysis."]),
    validations=st.builds(ValidationFacts, st.integers(0, 6)),
)


@given(FACTS, POLICIES)
def test_better_facts_never_make_a_worse_verdict(facts, policy):
    """Each fact alone, as good as it can be. A rating counts more the more raters give the greatest value."""
    gravest = gravity(facts, policy)
    better = {
        "agent": replace(facts.agent, wallet=WALLET, wallet_change=None, age_days=36_500),
        "registration": REGISTRATION,
        "ratings": RatingFacts(Counted(count=10**7, raters=10**7, share_sum=10**7 * SHARES), is_vetted=True),
        "analysis_lack": None,
        "validations": ValidationFacts(1_000, 1_000, Decimal(100)),
    }
    for name, fact in better.items():
        assert gravity(replace(facts, **{name: fact}), policy) <= gravest, name


@given(st.integers(1, 60), st.integers(0, 60 * SHARES), st.integers(0, SHARES), st.sampled_from([1, 50, 70, 95]))
def test_one_more_rater_with_the_best_rating_never_makes_a_worse_verdict(raters, share_sum, more, minimum):
    """With the severities of a policy it may: they can make an uncertain rating graver than a low one."""
    policy = Policy(minimum_rating=minimum, minimum_raters=1 + minimum // 10)
    share_sum = min(share_sum, raters * SHARES)
    lower = replace(GOOD, ratings=RatingFacts(Counted(raters, raters, share_sum), is_vetted=True))
    higher_sum = min(share_sum + more, raters * SHARES) + SHARES
    higher = replace(GOOD, ratings=RatingFacts(Counted(raters + 1, raters + 1, higher_sum), is_vetted=True))
    assert gravity(higher, policy) <= gravity(lower, policy)


@given(FACTS, POLICIES, st.sampled_from(UNKNOWABLE), st.sampled_from([Source.NODE, Source.FOREIGN_NODE]))
def test_unknown_fact_is_never_better_than_a_good_one(facts, policy, name, source):
    facts = replace(facts, source=source)
    unknown = replace(facts, **{name: NEVER})
    good = {"ratings": RatingFacts(Counted(10**7, 10**7, 10**7 * SHARES), is_vetted=True)}
    best = replace(facts, **{name: good.get(name, getattr(GOOD, name))})
    assert gravity(unknown, policy) >= gravity(best, policy)


def imported(module):
    """Yield the modules that a module imports when it runs, the blocks for type checking left out."""
    spec = importlib.util.find_spec(module)
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf8"))
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            yield statement.module
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)


def test_judge_imports_neither_a_database_nor_a_client():
    root, reached, waiting = Path(bilateral.__file__).parent.parent, set(), ["bilateral.checks.judge"]
    while waiting:
        module = waiting.pop()
        path = root / module.replace(".", "/")
        if module in reached or not (path.is_dir() or path.with_suffix(".py").exists()):
            reached.add(module)
            continue
        reached.add(module)
        waiting += imported(module)
    assert {"bilateral.checks.facts", "bilateral.checks.rating_rules", "bilateral.core.values.decision"} <= reached
    assert not [module for module in reached if module.startswith(FORBIDDEN)]


def test_judge_runs_without_a_database_or_a_client():
    program = "import sys, bilateral.checks.judge; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert not [module for module in run.stdout.split() if module.startswith(FORBIDDEN)]

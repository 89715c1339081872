"""A check's policy: whom to trust, and what to require of servers and clients. `docs/checks.md` lists its fields.

Policies accept the ids of agents and accounts in the same formats as every other interface.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import pydantic
from pydantic import BaseModel, ConfigDict, FailFast, Field, field_validator, model_validator

from bilateral.checks.verdicts import Code, Severity
from bilateral.core.errors import InvalidArgumentError, MalformedIdentifierError
from bilateral.core.errors.invalid_fields import first_problem
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.core.identifiers.agents import AGENT_FORMS
from bilateral.core.text import quoted
from bilateral.core.values.bounds import scale_of_tag
from bilateral.core.values.decision import LEAST_EVIDENCE, TRIAL
from bilateral.core.values.summaries import Blind


class PolicyName(StrEnum):
    """The names of policies."""

    BALANCED = "balanced"
    """The default policy."""

    STRICT = "strict"
    """Declines newcomers. Requires a reliably high rating by several raters that spent enough with other sellers."""

    OWN_LIST = "own-list"
    """Accepts only agents that the requester's own reviewers vouch for."""


_STRICT: Final = (
    *(Code.FEW_RATERS, Code.LOW_RATING, Code.OWN_RATINGS, Code.FILE_UNCONFIRMED, Code.FILE_UNREACHABLE),
    *(Code.WALLET_CHANGED, Code.OWNER_CHANGED, Code.REVIEWER_APPROVED, Code.RELATED, Code.CONTESTED),
    *(Code.UNCERTAIN_RATING, Code.STAKE_ABOVE_EVIDENCE, Code.UNREACHABLE, Code.NEVER_ALIVE),
)
"""The reasons that the strict policy raises from caution to decline."""

_DECLINES_STRANGERS: Final = {"newcomers": "decline", "anonymous": "decline", "first_purchase": 0}

PRESETS: Final[Mapping[PolicyName, Mapping[str, Any]]] = {
    PolicyName.BALANCED: {},
    PolicyName.STRICT: {
        **_DECLINES_STRANGERS,
        "minimum_evidence": 1,
        "minimum_raters": 5,  # with fewer, one false rater moves the mean by over a fifth of the scale
        "severities": dict.fromkeys(_STRICT, Severity.DECLINE),
    },
    PolicyName.OWN_LIST: {
        **_DECLINES_STRANGERS,
        "minimum_raters": 1,  # the requester chose each of them, so one suffices
        "severities": {Code.UNCERTAIN_RATING: Severity.NOTE},
    },
}
"""The fields of each named policy that differ from the defaults."""


def with_preset(fields: Any) -> Any:
    """Return a policy's fields, with omitted fields taken from the preset that the policy names."""
    if isinstance(fields, str):
        fields = {"name": fields}
    name = fields.get("name") if isinstance(fields, Mapping) else None
    if not isinstance(name, str) or name not in PRESETS:
        return fields  # validation reports the error to the caller
    preset = PRESETS[PolicyName(name)]
    merged = {**preset, **fields}
    if isinstance(own := fields.get("severities", {}), Mapping):
        merged["severities"] = {**preset.get("severities", {}), **own}
    return merged


MINIMUM_RATING: Final = Decimal(70)
"""The rating below which EIP-8004a's example declines a client."""

FIRST_PURCHASE: Final = Decimal(TRIAL)
"""The maximum stake for trying out a newcomer: a small loss, about a hundred typical x402 payments of one cent."""

TAG: Final = "starred"
"""The most common feedback tag. An analysis uses all tags that have a scale, but nearly all feedback has this tag."""

_MAX_LISTED: Final = 1_000
"""The maximum length of a list in a policy, because each entry is compared with each rater."""

_ADDRESS_LENGTH: Final = 42  # characters: 0x and two digits for each of 20 bytes
_MAX_DAYS: Final = 36_500  # a hundred years, longer than any chain has existed
_MAX_TAG_BYTES: Final = 400  # the index stores longer tags as hashes, see `MAX_KEY_BYTES`


@dataclass(frozen=True)
class AgentReference:
    """An agent as specified by a caller.

    Attributes:
        chain_id: The chain; None for the only chain in the index.
        identity: The identity registry; None for the chain's canonical registry or, if there is none, the oldest.
        agent_id: The agent's number in the registry.
    """

    chain_id: int | None
    identity: str | None
    agent_id: int


def is_account(text: object) -> bool:
    """Return True if a string specifies an account, not an agent."""
    return isinstance(text, str) and len(text) == _ADDRESS_LENGTH and text[:2].lower() == "0x"


def parse_agent(agent: str | int | AgentId | GlobalAgentId) -> AgentReference:
    """Parse an agent in any published form."""
    if isinstance(agent, str) and agent[:2].lower() == "0x":
        raise MalformedIdentifierError("an agent id", agent, f"{AGENT_FORMS}; an account has 40 hexadecimal digits")
    if isinstance(agent, str) and "0x" in agent.lower():
        text = agent
        if "#" not in agent:
            head, _, token = agent.rpartition(":")
            text = f"{head}#{token}"
        agent = GlobalAgentId.parse(text)
    if isinstance(agent, GlobalAgentId):
        return AgentReference(agent.registry.chain.evm_chain_id, agent.registry.address, int(agent.agent))
    agent_id = agent if isinstance(agent, AgentId) else AgentId.parse(agent)
    return AgentReference(agent_id.chain_id, None, agent_id.token_id)


def _agent(value: object) -> int | str:
    """Return an agent's number or, if its chain is specified, an id in a published form."""
    if not isinstance(value, int | str) or isinstance(value, bool):
        raise ValueError("agent must be an integer or an id such as '8453:247'")  # noqa: TRY004  # pydantic names the field
    agent = parse_agent(value)
    return agent.agent_id if agent.chain_id is None else str(value)


Agent = Annotated[int | str, pydantic.PlainValidator(_agent, json_schema_input_type=int | str)]
Address = Annotated[str, pydantic.AfterValidator(checksummed)]
Share = Annotated[Decimal, Field(ge=0, le=100)]
Days = Annotated[int, Field(ge=0, le=_MAX_DAYS)]


class Newcomers(StrEnum):
    """How to treat agents that have no ratings that count."""

    ACCEPT = "accept"
    CAUTION = "caution"
    DECLINE = "decline"

    @property
    def severity(self) -> Severity:
        """The severity of a reason about a newcomer."""
        return Severity.NOTE if self is Newcomers.ACCEPT else Severity(self.value)


def _few(fields: Any) -> Any:
    """Reject a list with too many entries, before the entries are validated individually."""
    if isinstance(fields, Mapping) and len(fields) > len(Code):
        raise ValueError(f"there are {len(fields)} entries, but at most {len(Code)} are allowed")
    return fields


class _Few(BaseModel):
    """Base of models whose fields come from untrusted callers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    few = model_validator(mode="before")(_few)


class Trust(_Few):
    """The raters whose ratings count. If no field is set, all raters count, and answers call them unvetted.

    Attributes:
        accounts: Accounts whose feedback counts.
        agents: The agents whose ratings count, along with feedback from their owners and wallets. Each is a number in
            the registry of the agent being checked, or a published id, which counts only on its own chain.
        own_experience: True to count raters that the requesting agent or account has itself rated at `minimum_rating`
            or higher.
        minimum_lower_bound: The lower bound, 0 to 100, that an agent's own rating as a server must reach for the
            agent's ratings of others to count.
    """

    accounts: Annotated[tuple[Address, ...], FailFast(), Field(max_length=_MAX_LISTED)] = ()
    agents: Annotated[tuple[Agent, ...], FailFast(), Field(max_length=_MAX_LISTED)] = ()
    own_experience: bool = False
    minimum_lower_bound: Share | None = None

    @property
    def is_set(self) -> bool:
        """True if only some raters count."""
        return bool(self.accounts or self.agents or self.own_experience or self.minimum_lower_bound is not None)


class Policy(_Few):
    """The policy of a check.

    Attributes:
        name: The named policy that supplies the fields that are not set.
        minimum_rating: The lowest acceptable rating, 0 to 100.
        tag: The tag of the feedback that counts as a server's rating. It must have a scale.
        minimum_raters: The minimum number of raters. With fewer, a rating counts as uncertain.
        first_purchase: The maximum stake for trying out an agent with little evidence in the analysis, in whole tokens.
        minimum_evidence: The evidence required per unit at stake: the amount that the raters who rated the agent well
            must have spent with other sellers.
        newcomers: How to treat agents that have no ratings that count.
        anonymous: How to treat clients without an agent.
        trust: The raters whose ratings count.
        require_payment_proof: True to count only feedback whose file claims a payment from the client to the agent.
        blind: `only` to count only ratings that were sealed before either side saw the other's rating; None to count
            all.
        maximum_rating_age_days: The age in days above which a rating does not count; None for no limit.
        maximum_repeats: How many of a rater's ratings in each period of `repeat_days` count, earliest first; None for
            all. Because each rater counts once, with the mean of its ratings, repeated ratings never outweigh other
            raters.
        repeat_days: The length, in days, of the period to which `maximum_repeats` applies.
        validators: The validators whose responses count. If empty, all count, and validations prove nothing, because
            anyone can be a validator.
        minimum_validations: The minimum number of validations that a server needs.
        minimum_validation: The lowest acceptable mean of the validators' responses, 0 to 100.
        require_domain: True to decline servers that have no domain, or whose domain does not list the agent.
        minimum_age_days: An agent's minimum age in days.
        recent_days: The number of days for which a change of wallet or owner counts as recent.
        minimum_buyer_score: The lowest acceptable score for a buyer's record, 0 to 100; None to require none.
        watchtowers: The accounts whose published `reachable` signals count, in addition to the index's own
            measurements.
        maximum_measurement_age_hours: The age in hours above which the index's measurements do not count.
        severities: Severities that replace the defaults, keyed by reason code.
    """

    name: PolicyName = PolicyName.BALANCED
    minimum_rating: Share = MINIMUM_RATING
    tag: str = TAG
    minimum_raters: Annotated[int, Field(ge=1, le=1_000_000)] = 3
    first_purchase: Annotated[Decimal, Field(ge=0, le=1_000_000)] = FIRST_PURCHASE
    minimum_evidence: Annotated[Decimal, Field(ge=Decimal("0.01"), le=100)] = Decimal(str(LEAST_EVIDENCE))
    newcomers: Newcomers = Newcomers.CAUTION
    anonymous: Newcomers = Newcomers.CAUTION
    trust: Trust = Trust()
    require_payment_proof: bool = False
    blind: Blind | None = None
    maximum_rating_age_days: Annotated[int, Field(ge=1, le=_MAX_DAYS)] | None = None
    maximum_repeats: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    repeat_days: Annotated[int, Field(ge=1, le=_MAX_DAYS)] = 1
    validators: Annotated[tuple[Address, ...], FailFast(), Field(max_length=_MAX_LISTED)] = ()
    minimum_validations: Annotated[int, Field(ge=0, le=1_000)] = 0
    minimum_validation: Share = MINIMUM_RATING
    require_domain: bool = False
    minimum_age_days: Days = 0
    recent_days: Days = 7
    minimum_buyer_score: Share | None = None
    watchtowers: Annotated[tuple[Address, ...], FailFast(), Field(max_length=_MAX_LISTED)] = ()
    maximum_measurement_age_hours: Annotated[int, Field(ge=1, le=8_760)] = 24
    severities: Annotated[dict[Code, Severity], pydantic.BeforeValidator(_few)] = {}

    preset = model_validator(mode="before")(with_preset)

    @model_validator(mode="after")
    def _has_list(self) -> Policy:
        """Reject an `own-list` policy without a list of reviewers, because it would accept nobody."""
        if self.name is PolicyName.OWN_LIST and not (self.trust.accounts or self.trust.agents):
            raise ValueError("own-list counts only your own reviewers: list them in trust.accounts or trust.agents")
        return self

    @field_validator("tag")
    @classmethod
    def _has_scale(cls, tag: str) -> str:
        """Reject a tag whose values cannot be compared with a minimum."""
        if len(tag.encode()) > _MAX_TAG_BYTES:
            raise ValueError(f"a tag must have at most {_MAX_TAG_BYTES} bytes")
        if scale_of_tag(tag) is None:
            raise ValueError(
                f"the tag {quoted(tag)} has no scale from 0 to 100: choose a tag that has one, such as starred"
            )
        return tag

    @property
    def reads_entries(self) -> bool:
        """True if this policy requires reading ratings individually, because sums of ratings do not suffice."""
        return (
            self.require_payment_proof or self.maximum_rating_age_days is not None or self.maximum_repeats is not None
        )

    @property
    def only_sealed(self) -> bool:
        """True to count only ratings that were sealed before either side saw the other's rating."""
        return self.blind is not None

    @property
    def counts_all(self) -> bool:
        """True if everyone's ratings count, as in a trust analysis."""
        return not (self.trust.is_set or self.reads_entries) and not self.only_sealed and self.tag == TAG

    def severity_of(self, code: Code) -> Severity:
        """Return a reason's severity under this policy."""
        if code in self.severities:
            return self.severities[code]
        if code is Code.NO_RATINGS:
            return self.newcomers.severity
        if code is Code.NO_AGENT:
            return self.anonymous.severity
        if code in (Code.DOMAIN_UNPROVEN, Code.DOMAIN_DENIED) and self.require_domain:
            return Severity.DECLINE
        return code.severity


def read_policy(path: Path) -> Policy:
    """Read a policy from a TOML file, whose keys are the fields of `Policy`.

    Args:
        path: The file.

    Raises:
        InvalidArgumentError: The file cannot be read, or a field is unknown or out of range.
    """
    return policy_of(read_fields(path))


def read_fields(path: Path) -> dict[str, Any]:
    """Read a policy's fields from a TOML file, without checking their values."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file, parse_float=Decimal)
    except OSError as problem:
        raise InvalidArgumentError(f"{quoted(str(path))} cannot be read: {problem.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InvalidArgumentError(f"{quoted(str(path))} is not TOML: {problem}") from None


def with_reviewers(fields: Any, accounts: Sequence[str] = (), agents: Sequence[str] = ()) -> Any:
    """Return the fields of a policy that also counts ratings by additional reviewers."""
    changed = dict(fields) if isinstance(fields, Mapping) else {"name": fields}
    trust = changed.get("trust", {})
    if not (accounts or agents) or not isinstance(trust, Mapping):
        return changed  # validation reports the error to the caller
    changed["trust"] = {
        **trust,
        "accounts": [*trust.get("accounts", ()), *accounts],
        "agents": [*trust.get("agents", ()), *agents],
    }
    return changed


def policy_of(fields: object) -> Policy:
    """Return the policy with the given fields, which are keyed by name."""
    try:
        return Policy.model_validate(fields)
    except pydantic.ValidationError as problem:
        raise InvalidArgumentError(f"policy: {first_problem(problem)}") from None

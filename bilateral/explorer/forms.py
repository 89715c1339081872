"""The forms of the actions that visitors take with their own wallets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from bilateral.core.values.feedback import STANDARD_TAGS


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form.

    Attributes:
        name: Its name in the body of the request.
        hint: A sentence below it.
        kind: `text`, `area`, `number`, `check`, `payment`, or `key`: one that the link to the page fills.
        is_required: True if it must be filled.
        value: Its value at first.
        present: Its value in the agent's present file; None if it does not come from there.
        options: Values to choose from, each with its meaning. Others are possible.
    """

    name: str
    label: str
    hint: str = ""
    kind: str = "text"
    is_required: bool = False
    value: str = ""
    present: str | None = None
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """A form for an action.

    Attributes:
        action: The action's name in the API.
        title: The title of its page; an agent's name may follow.
        intro: A sentence about it.
        shows: The place where its result is shown: `rating`, `row`, `agent`, `new agent` or `validation`;
            empty for a signature alone.
        says: The sentence about what is signed. Names of fields in braces stand for their values; a part in brackets
            is left out while a field in it is empty.
        steps: A further sentence for each signature of an action with several.
    """

    action: str
    title: str
    intro: str
    fields: tuple[Field, ...]
    shows: str
    says: str
    steps: tuple[str, ...] = ()


def _scale(name: str) -> str:
    """Return the meaning of values under a standard tag."""
    tag = STANDARD_TAGS[name]
    if tag.binary:
        return f"{tag.measures}: 1 for yes, 0 for no"
    limits = "any number" if tag.lowest is None else f"from {tag.lowest}"
    highest = "" if tag.highest is None else f" to {tag.highest}"
    return f"{tag.measures}: {limits}{highest}{'' if tag.unit.startswith('of') else f', in {tag.unit}'}"


_TAG: Final = Field(
    "tag1",
    "Tag",
    "The measured quantity. It decides the scale of the value.",
    value="starred",
    options=tuple((tag, _scale(tag)) for tag in STANDARD_TAGS),
)

_AGENT: Final = Field("agent", "Agent", kind="key", is_required=True)
_FEEDBACK: Final = Field("feedback", "Feedback", kind="key", is_required=True)
_CHAIN: Final = Field("chain", "Chain", kind="key", is_required=True)
_POINTS: Final = Field("rating", "Rating", "From 0 to 100.", kind="number", is_required=True)
_PAID: Final = "The transaction in which you paid this agent."

_DESCRIPTION: Final = (
    Field("name", "Name"),
    Field("description", "Description", "Its work, in the words of those who look for it.", kind="area"),
    Field("image", "Picture", "The address of a picture."),
    Field(
        "services",
        "Services",
        "One a line: its kind, its address, and perhaps a version, such as MCP https://agent.example/mcp",
        kind="area",
    ),
    Field("x402", "It takes payments by x402", kind="check"),
    Field("active", "It is in service", kind="check", value="true"),
)

KEEP: Final = "keep"
"""The field that only services with a store have."""

_KEPT: Final = Field(KEEP, "Keep its file at this service, not on the chain: that costs less gas", kind="check")

_NEEDED: Final = {"name", "description", "image"}
"""The fields that ERC-8004 requires of a new file."""

FORMS: Final = {
    form.action: form
    for form in (
        Form(
            "register_agent",
            "Register an agent",
            "Your account owns it. The transaction stores its file on the chain, if you do not choose otherwise.",
            (
                _CHAIN,
                *(replace(field, is_required=field.name in _NEEDED) for field in _DESCRIPTION),
                Field("trust", "Trust models", "With commas between, such as reputation.", value="reputation"),
                _KEPT,
            ),
            "new agent",
            "Register the agent {name}, which your account owns.",
        ),
        Form(
            "edit_registration",
            "Edit",
            "Fields that you leave alone stay as they are, and so do all parts of the file that are not shown.",
            (_AGENT, *_DESCRIPTION, _KEPT),
            "agent",
            "Change {changes} in the registration file of agent {agent}.",
        ),
        Form(
            "set_agent_wallet",
            "Set the wallet of",
            "Payments go to the wallet. It signs first, to prove its consent; then the owner sends the transaction.",
            (_AGENT, Field("wallet", "New wallet", "An account that you can sign with.", is_required=True)),
            "agent",
            "Make {wallet} the wallet of agent {agent}.",
        ),
        Form(
            "set_primary_agent",
            "Speak as",
            "Your ratings of clients and validators are those of your primary agent.",
            (_AGENT,),
            "agent",
            "Speak as agent {agent} from now on.",
        ),
        Form(
            "give_feedback",
            "Rate",
            "Say how this agent served you. Everybody can read it.",
            (
                _AGENT,
                _TAG,
                Field("value", "Value", kind="number", is_required=True),
                Field("tag2", "Second tag", "A qualifier, such as the period."),
                Field("endpoint", "Endpoint", "The address that you used."),
                Field("text", "Words", "They become a file, which the transaction stores.", kind="area"),
                Field("payment", "Payment", f"{_PAID} Your word then counts more.", kind="payment"),
            ),
            "rating",
            "Rate agent {agent} with {value}[ under the tag {tag1}].",
        ),
        Form(
            "sponsored_feedback",
            "Without gas, rate",
            "You sign twice; this service sends the feedback and pays. It takes proof that you bought from the agent.",
            (
                _AGENT,
                _TAG,
                Field("value", "Value", "From 0 to 100.", kind="number", is_required=True),
                Field(
                    "statement",
                    "Signed statement",
                    "The JSON that came with the paid answer, under “8004-reputation” among its extensions.",
                    kind="area",
                    is_required=True,
                ),
                Field("endpoint", "Endpoint", "The address that you used."),
                Field("text", "Words", "They become a file, which the transaction stores.", kind="area"),
            ),
            "rating",
            "Rate agent {agent} with {value}[ under the tag {tag1}].",
            ("First sign who, for which payment, and the value.", "Then sign the feedback itself."),
        ),
        Form(
            "revoke_feedback",
            "Revoke feedback on",
            "Your feedback counts no more. Everybody still sees it, with a mark.",
            (_FEEDBACK,),
            "row",
            "Revoke your feedback {number} on agent {about}.",
        ),
        Form(
            "append_response",
            "Respond to feedback on",
            "Anybody may respond. The words of the agent's owner or wallet are shown first.",
            (_FEEDBACK, Field("text", "Words", kind="area", is_required=True)),
            "row",
            "Respond to feedback {number} of {by} on agent {about}.",
        ),
        Form(
            "rate_client",
            "Rate as a client",
            "Servers rate those who bought from them. You rate as your primary agent.",
            (_AGENT, _POINTS),
            "rating",
            "Rate agent {agent} as a client with {rating} of 100.",
        ),
        Form(
            "rate_validator",
            "Rate as a validator",
            "Servers rate those who validated their work. You rate as your primary agent.",
            (_AGENT, _POINTS),
            "rating",
            "Rate agent {agent} as a validator with {rating} of 100.",
        ),
        Form(
            "respond_to_validation",
            "Answer a validation request",
            "Only the validator that the request names may answer.",
            (
                _CHAIN,
                Field("request", "Request", kind="key", is_required=True),
                Field("response", "Answer", "0 for failed, 100 for passed.", kind="number", is_required=True),
                Field("tag", "Tag", "A category of your own."),
                Field("uri", "Evidence", "The address of a document."),
            ),
            "validation",
            "Answer the request {request} with {response} of 100.",
        ),
        Form(
            "authorize_feedback",
            "Let a client rate",
            "Some registries take feedback only from clients that the owner authorised. Hand the result to the client.",
            (
                _AGENT,
                Field("client", "Client", "The account that may rate it.", is_required=True),
                Field("count", "Times", kind="number", value="1"),
            ),
            "",
            "Let {client} rate agent {agent} {times} within a day.",
        ),
        Form(
            "publish_review",
            "Review a purchase from",
            "A review is of one payment. This service keeps it; nothing is sent to the chain.",
            (
                _AGENT,
                Field("payment", "Payment", _PAID, kind="payment", is_required=True),
                Field("score", "Score", "From 0 to 100.", kind="number", is_required=True),
                Field("note", "Words", kind="area"),
            ),
            "",
            "Review your purchase from agent {agent} with {score} of 100.",
        ),
    )
}
"""The forms by action."""

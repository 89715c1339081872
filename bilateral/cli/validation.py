"""`bilateral validation …`: requests to validators, and their responses."""

from pathlib import Path
from typing import Annotated

from bilateral.cli.columns import columns, tag_at
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import Agent, FileHash, FileUri, argument, command, make_group, option, optional
from bilateral.core.errors import InvalidArgumentError

app = make_group("validation")

Request = Annotated[str, argument("REQUEST", "The request's hash.")]
Validator = Annotated[str, argument("VALIDATOR", "The validator's address.")]
ValidationTag = Annotated[str, option("TAG", "The validator's category.", "--tag")]


@command(app, writes=True, stores=True)
def request(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    agent: Agent,
    validator: Validator,
    document: Path | None = optional("FILE", "A document to store for the validator; - for standard input."),
    uri: FileUri = "",
    file_hash: FileHash = None,
) -> None:
    """Request a validation of an agent's work."""
    content = None if document is None else invocation.read_file(document)
    invocation.write(
        "Validation requested",
        lambda client: client.request_validation(agent, validator, uri, file_hash, document=content),
    )


@command(app, writes=True)
def respond(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    request_hash: Request,
    response: Annotated[int, argument("RESPONSE", "From 0 (failed) to 100 (passed).")],
    uri: FileUri = "",
    file_hash: FileHash = None,
    tag: ValidationTag = "",
) -> None:
    """Respond to a validation request, as its validator. The last response counts."""
    invocation.write(
        "Validation answered", lambda client: client.respond_to_validation(request_hash, response, uri, file_hash, tag)
    )


@command(app)
def show(invocation: Invocation, request_hash: Request) -> None:
    """Show a validation request and its latest response."""
    with invocation.reading() as client:
        status = client.get_validation_status(request_hash)
    invocation.output.result(status, title="Validation")


@command(app)
def summary(
    invocation: Invocation,
    agent: Agent,
    validators: list[str] | None = optional(
        "ADDRESS",
        "Count only responses from this validator; may be repeated. All validators count by default.",
        "--validator",
    ),
    tag: ValidationTag = "",
) -> None:
    """Average the latest validation responses for an agent."""
    with invocation.reading() as client:
        summary = client.get_validation_summary(agent, validators=validators or (), tag=tag)
    invocation.output.result(summary, title=f"Validations of agent {summary.agent}")


@command(app, "list")
def list_requests(
    invocation: Invocation,
    agent: str | None = optional("AGENT", "The agent whose work is validated."),
    validator: str | None = optional("ADDRESS", "The validator's address."),
) -> None:
    """List the validation requests for an agent or to a validator, with their latest responses."""
    if (agent is None) == (validator is None):
        raise InvalidArgumentError("pass exactly one of --agent and --validator")
    with invocation.reading() as client:
        hashes = client.get_agent_validations(agent) if agent else client.get_validator_requests(str(validator))
        statuses = [client.get_validation_status(request) for request in hashes]
    fields = columns(
        request="request_hash",
        agent="agent",
        validator="validator",
        response=lambda entry: entry.response if entry.is_surely_answered else None,
        tag=tag_at("tag"),
        last_update="last_update",
    )
    invocation.output.results(statuses, fields, none="no requests")

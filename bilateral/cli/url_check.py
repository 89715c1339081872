"""`bilateral check URL`: a paid service that is known by its URL alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bilateral.cli.errors import UsageProblemError
from bilateral.cli.help import ExampleGroup
from bilateral.cli.invocation import Invocation
from bilateral.cli.live_check import EXITS

_TERMS: Final = ("scheme", "network", "asset")
"""The terms of a price beside its words: a token may call itself as it likes."""


class CheckGroup(ExampleGroup):
    """The group of checks. A URL in the place of a command's name is checked."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name."""
        is_url = args[0].lower().startswith(("http://", "https://"))
        return super().resolve_command(ctx, ["url", *args] if is_url else args)


def check_url_command(
    invocation: Invocation,
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL of a paid route.")],
    method: Annotated[str, typer.Option(metavar="NAME", help="The method of the request.")] = "GET",
    body_file: Annotated[Path | None, typer.Option(metavar="FILE", help="A file with the body of the request.")] = None,
) -> None:
    """Check a paid service by its URL: price, declaration, agent, file, ratings. Exit codes as of `check server`."""
    from bilateral.x402.clients.service_check import check_service  # noqa: PLC0415  # slow, and an extra

    rpc_url = invocation.settings.rpc_url
    if rpc_url is None:
        raise UsageProblemError("a check of a URL asks a node: give --rpc-url")
    content = b"" if body_file is None else invocation.read_file(body_file)
    with invocation.reading("Asking the service and the node") as client:
        answer = check_service(
            client, rpc_url, url, method, content=content, loader=invocation.loader(), report=invocation.output.note
        )
    view = {
        "verdict": answer.verdict.value,
        "price": [
            f"{option['text']} ({', '.join(option[name] for name in _TERMS if name in option)})"
            for option in answer.price
        ],
        "declaration": {
            f"{finding.check}, {finding.network}": finding.problem or "passed" for finding in answer.findings
        },
        **{
            f"agent {agent.agent}": {
                "name, as it calls itself": agent.untrusted.get("name"),
                "wallet": agent.account,
                "rating": agent.figures["rating"]["rating"],
                **{f"{reason.severity.value}: {reason.code.value}": reason.sentence for reason in agent.reasons},
            }
            for agent in answer.agents
        },
        "not known": [*answer.unknown, *(fact for agent in answer.agents[:1] for fact in agent.unknown)],
    }
    invocation.output.result(answer, title="Check of a service", view=view)
    if code := EXITS[answer.verdict.value]:
        raise typer.Exit(code)

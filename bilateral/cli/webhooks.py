"""`bilateral webhooks …`: subscriptions to changes, and their delivery."""

import json
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bilateral.cli.columns import columns
from bilateral.cli.index_options import Database, MonitorOptions, open_index
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import argument, command, make_group, option, optional
from bilateral.cli.service import require_api
from bilateral.cli.watch import ChangeOptions
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted

app = make_group("webhooks")

_COLUMNS: Final = columns(
    Webhook="id",
    Owner="owner",
    URL="url",
    Wanted=lambda entry: json.dumps(entry["wanted"]),
    State="state",
    Delivered="delivered",
    Problem="problem",
)

KeyFile = Annotated[
    Path,
    option(
        "FILE",
        "The Ed25519 signing key in PEM, as created by `bilateral webhooks new-key`.",
        "--key-file",
        envvar="BILATERAL_WEBHOOK_KEY_FILE",
    ),
]
Owner = Annotated[str, option("NAME", "The name of the webhook's owner.", "--owner")]
Private = Annotated[
    bool,
    typer.Option("--allow-private", help="Permit HTTP and private addresses. Use this only within your own network."),
]


@dataclass(frozen=True, kw_only=True)
class WebhookOptions(ChangeOptions):
    """The options for the changes that a webhook receives, and for the change with which it starts."""

    agents: list[str] | None = optional("AGENT", "Only changes to this agent; may be repeated.", "--agent")
    accounts: list[str] | None = optional(
        "ADDRESS", "Only changes that involve this account; may be repeated.", "--account"
    )
    since: str | None = optional("CURSOR", "The cursor to start at; by default, only new changes are sent.")
    owner: Owner = "operator"
    allow_private: Private = False


@command(app, "add", is_local=True, needs=require_api)
def add_webhook(
    invocation: Invocation,
    url: Annotated[str, argument("URL", "The https URL that receives changes.")],
    options: WebhookOptions,
    database: Database = None,
) -> None:
    """Send all future changes that match the options to a URL."""
    from bilateral.api.webhooks import subscribe  # noqa: PLC0415  # slow to import

    with open_index(database) as engine, engine.begin() as connection:
        chosen = options.filter(connection, options.agents or (), options.accounts or ())
        terms: dict[str, Any] = {"since": options.since, "allow_private": options.allow_private}
        webhook_id = subscribe(connection, url, chosen, owner=options.owner, **terms)
    invocation.output.result({"id": webhook_id, "url": url}, title="Webhook")


@command(app, "list", is_local=True, needs=require_api)
def list_webhooks(
    invocation: Invocation,
    owner: str | None = optional("NAME", "Only webhooks of this owner."),
    database: Database = None,
) -> None:
    """List webhooks with their state and most recent problem."""
    from bilateral.index.changes.webhooks import stored_webhooks  # noqa: PLC0415
    from bilateral.index.log.database import snapshot  # noqa: PLC0415  # slow to import

    with open_index(database) as engine, snapshot(engine) as connection:
        rows = stored_webhooks(connection, owner)
    invocation.output.results([_row_of(row) for row in rows], _COLUMNS)


def _row_of(row: Any) -> dict[str, Any]:
    state = "stopped" if row.stopped_at is not None else "failing" if row.failures else "active"
    counts = {"delivered": row.delivered, "failed": row.failed, "next_at": row.next_at, "problem": row.problem or ""}
    fields = {"id": row.id, "owner": row.owner, "url": row.url, "wanted": json.loads(row.wanted), "since": row.since}
    return {**fields, "state": state, **counts}


@command(app, "remove", is_local=True, needs=require_api)
def remove_webhook(
    invocation: Invocation,
    webhook_id: Annotated[str, argument("WEBHOOK", "The webhook's id, as shown by `webhooks list`.")],
    database: Database = None,
) -> None:
    """Remove a webhook."""
    from bilateral.index.changes.webhooks import remove_webhook as remove  # noqa: PLC0415  # slow to import

    with open_index(database) as engine, engine.begin() as connection:
        if not remove(connection, webhook_id):
            raise InvalidArgumentError(f"there is no webhook {quoted(webhook_id)}: see `bilateral webhooks list`")
    invocation.output.result({"id": webhook_id}, title="Removed")


@command(app, is_local=True, needs=require_api)
def new_key(invocation: Invocation, key_file: KeyFile) -> None:
    """Create the key that signs deliveries, and print its public key for receivers."""
    from bilateral.api.webhooks import write_key  # noqa: PLC0415  # slow to import

    _show_key(invocation, write_key(key_file))


@command(app, "key", is_local=True, needs=require_api)
def show_key(invocation: Invocation, key_file: KeyFile) -> None:
    """Print the public half of the key, which receivers use to check signatures."""
    from bilateral.api.webhooks import read_key  # noqa: PLC0415  # slow to import

    _show_key(invocation, read_key(key_file))


def _show_key(invocation: Invocation, key: Any) -> None:
    invocation.output.result({"keyid": key.thumbprint(), "public_key": key.as_pem(private=False).decode()}, title="Key")


@command(app, is_local=True, needs=require_api)
def deliver(
    invocation: Invocation,  # noqa: ARG001  # every command has it
    key_file: KeyFile,
    monitor: MonitorOptions,
    allow_private: Private = False,
    database: Database = None,
) -> None:
    """Send changes to all webhooks until interrupted. A second process waits until the first one stops."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    from bilateral.api.webhooks import Deliverer, Signer, read_key  # noqa: PLC0415  # slow to import
    from bilateral.core.text.log_lines import log_safely  # noqa: PLC0415
    from bilateral.documents.http import Network  # noqa: PLC0415

    log_safely()
    signer = Signer(read_key(key_file))
    with open_index(database) as engine, monitor.answering(engine, needs_analysis=False):
        Deliverer(engine, signer, stop, Network(allow_private=allow_private)).run()

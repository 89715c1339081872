"""Subscriptions of models to resources: `subscriptions/listen` of the protocol's version 2026-07-28.

Each subscription is one stream without a session, so that any process of the service can serve it. Older versions of
the protocol (`resources/subscribe`) need sessions that live in one process, and are not served.
"""

import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

from anyio import to_thread
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import event_to_notification
from sqlalchemy import Connection

from bilateral.api.feed import Feed
from bilateral.api.guard import network_of
from bilateral.api.problems import ProblemError, problem_of
from bilateral.api.service import service_of
from bilateral.core.errors import BilateralError
from bilateral.core.identifiers import checksummed
from bilateral.core.text import quoted
from bilateral.index.changes.answers import displayed_agent
from bilateral.index.changes.queries import AT_ONCE, FeedFilter, last_cursor
from bilateral.index.reading.readers import Reader
from bilateral.index.reading.registries import agent_key, read_registries

AGENTS: Final = "bilateral://agents/"
ACCOUNTS: Final = "bilateral://accounts/"

MOST_RESOURCES: Final = 100
"""The most resources of one subscription, because each change is compared with each of them."""

STREAM_SECONDS: Final = 600.0
"""The longest subscription over HTTP, as of a stream of changes. The client then subscribes again."""

_WAIT_SECONDS: Final = 15.0  # between two keep-alive messages of `/v1/changes`, too
_EVERYTHING: Final = FeedFilter()


class Reads:
    """Reads of a database in threads, for a feed without a service."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def read_aside(self, query: Any, *arguments: Any) -> Any:
        """Run a query in a thread."""
        return await to_thread.run_sync(partial(self._reader.read, query, *arguments))

    read_briefly = read_aside


class Listening:
    """Serves subscriptions to agents and accounts.

    Args:
        feed: The change feed. It counts the subscriptions of each address among the requests that wait.
    """

    def __init__(self, reader: Reader, feed: Feed) -> None:
        self._reads = Reads(reader)
        self._feed = feed

    async def __call__(
        self, context: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Tell a client which of its resources changed, until it disconnects or the subscription expires."""
        if context.request_id is None:
            raise MCPError(types.INVALID_REQUEST, "subscriptions/listen requires a request id")
        uris = tuple(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        try:
            by_name = await self._reads.read_aside(_names, uris)
            cursor = await self._reads.read_aside(last_cursor)
            with ExitStack() as stack:
                request = getattr(context, "request", None)
                if request is not None:
                    networks = service_of(request).settings.proxy_networks
                    stack.enter_context(self._feed.place(network_of(request.scope, networks)))
                return await self._notify(context, uris, by_name, cursor)
        except BilateralError as error:
            problem = problem_of(error)
            raise MCPError(types.INVALID_PARAMS, f"{problem.code}: {problem.detail}") from None
        except ProblemError as problem:
            raise MCPError(types.INVALID_REQUEST, f"{problem.code}: {problem.detail}") from None

    async def _notify(
        self,
        context: ServerRequestContext[Any, Any],
        uris: tuple[str, ...],
        by_name: Mapping[str, list[str]],
        cursor: str,
    ) -> types.SubscriptionsListenResult:
        is_bounded = getattr(context, "request", None) is not None  # over HTTP
        request_id = context.request_id
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: request_id}
        honored = types.SubscriptionFilter(resource_subscriptions=list(uris) or None)
        accepted = types.SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=meta)
        acknowledged = types.SubscriptionsAcknowledgedNotification(params=accepted)
        await context.session.send_notification(acknowledged, related_request_id=request_id)
        end = time.monotonic() + STREAM_SECONDS if is_bounded else float("inf")
        while uris and (left := end - time.monotonic()) > 0:
            page = await self._feed.wait(cursor, _EVERYTHING, AT_ONCE, min(_WAIT_SECONDS, left))
            cursor = page.cursor
            names = [name for change in page.items for name in (*change.agents, *change.accounts)]
            for uri in dict.fromkeys(uri for name in names for uri in by_name.get(name, ())):
                notification = event_to_notification(ResourceUpdated(uri), meta)
                await context.session.send_notification(notification, related_request_id=request_id)
        return types.SubscriptionsListenResult(_meta=meta)


def _names(connection: Connection, uris: tuple[str, ...]) -> Mapping[str, list[str]]:
    if len(uris) > MOST_RESOURCES:
        raise MCPError(
            types.INVALID_PARAMS, f"invalid_argument: {len(uris)} resources are given, and {MOST_RESOURCES} are allowed"
        )
    registries = read_registries(connection)
    by_name: dict[str, list[str]] = defaultdict(list)
    for uri in uris:
        if uri.startswith(AGENTS):
            key = agent_key(registries, uri.removeprefix(AGENTS))
            name = displayed_agent(registries, key.chain_id, key.identity_registry, key.agent_id)
        elif uri.startswith(ACCOUNTS):
            name = checksummed(uri.removeprefix(ACCOUNTS))
        else:
            detail = f"{quoted(uri)} cannot be subscribed to: write {AGENTS}8453:247 or {ACCOUNTS}0x…"
            raise MCPError(types.INVALID_PARAMS, f"invalid_argument: {detail}")
        by_name[name].append(uri)
    return by_name

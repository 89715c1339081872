"""The recordings of answers about the town and the replayed chain, and of the rows behind them."""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from hashlib import sha256
from unittest.mock import patch
from urllib.parse import urlencode

from joserfc.jwk import OKPKey

from bilateral.api.webhooks import Deliverer, Signer, subscribe
from bilateral.documents import Network
from bilateral.index.changes.queries import FeedFilter
from bilateral.index.changes.webhooks import remove_webhook
from tests.api.receivers import receiving
from tests.checks.ledger import CHAIN_ID
from tests.recordings.interfaces import json_text
from tests.recordings.worlds import (
    AGENTS,
    CLIENTS,
    OPERATOR,
    OWNERS,
    RING,
    VALIDATOR,
    account,
    replayed_chain,
    served,
    town,
)
from tests.statements import noted_reads
from tests.waiting import wait_until

DIGITS = 10
"""The digits of recorded floats: machines differ in the last of 17."""

AGENT = f"{CHAIN_ID}:1"
OWNER, CLIENT = account(OWNERS + 1), account(CLIENTS)
VALUES = {
    "agent": AGENT,
    "address": CLIENT,
    "chain": CHAIN_ID,
    "tag": "starred",
    "policy": "brp-1.0",
    "epoch": 1,
    "sellerGlobalId": f"eip155:{CHAIN_ID}:1",
    "client": CLIENT,
}
"""The values of required parameters, by name."""

MEASURED = ("standing_refresh", "seconds")
"""The column with the time that an analysis took."""

OF_CONNECTION = "SELECT sqrt(1)"
"""A statement of each new connection."""

NOT_RECORDED = {"/metrics", "/v1/services"}
"""Routes whose answers depend on the process or on the web."""

MORE = (
    *(f"/v1/agents/{CHAIN_ID}:{agent}" for agent in (2, 7, 9, 12, 13, 37, 99)),
    *(f"/v1/agents/{CHAIN_ID}:{agent}/standing" for agent in (7, 37)),
    *(f"/v1/agents/{CHAIN_ID}:{agent}/{part}" for agent in (2, 7) for part in ("feedback?limit=3", "ratings?limit=3")),
    *(f"/v1/agents/{CHAIN_ID}:{agent}/trust" for agent in (7, 37)),
    f"/v1/agents/{CHAIN_ID}:2/sealed-pairs",
    f"/v1/agents/{CHAIN_ID}:7/feedback?blind=only",
    f"/v1/agents/{CHAIN_ID}:1/feedback?format=csv&limit=3",
    f"/v1/agents/{CHAIN_ID}:1/feedback?format=jsonl&limit=3",
    *(f"/v1/accounts/{account(number)}" for number in (OWNERS + 1, RING + 3, VALIDATOR, OPERATOR, 999)),
    f"/v1/accounts/{account(VALIDATOR)}/validations?chain={CHAIN_ID}",
    f"/v1/accounts/{account(RING + 3)}/trust?chain={CHAIN_ID}",
    f"/v1/statistics?chain={CHAIN_ID}&from=2023-11-01&to=2023-12-31",
    "/v1/changes?since=0&limit=3",
    *(f"/v1/leaders?tag=starred&limit=5&board={board}" for board in ("standing", "lower_bound", "held_back", "x")),
    "/v1/agents/x",
    "/v1/agents/1:1",
    "/v1/unknown",
)
"""More questions: other agents, other formats, errors."""

GRAPHQL = (
    "{ agents(first: 3, orderBy: totalFeedback, orderDirection: desc) { id owner totalFeedback } }",
    f'{{ agent(id: "{AGENT}") {{ id owner agentURI registrationFile {{ name active mcpTools }} }} }}',
    f'{{ feedbacks(first: 3, where: {{ agent: "{AGENT}" }}) {{ id value tag1 clientAddress isRevoked }} }}',
    "{ _meta { block { number hash } hasIndexingErrors } }",
    "{ nothing }",
)

SEARCHES = (
    "",
    "q=weather",
    "q=wether+orakle",
    "q=market+trading&order=relevance",
    "q=chess&tag=starred&minimum=50",
    "tag=starred&lower_bound=60&order=lower_bound",
    "tag=starred&count=3&clients=2&order=mean",
    "tag=starred&maximum=80&order=activity",
    "tag=uptime&minimum=10&reviewer=CLIENT",
    "side=client&minimum=30",
    "side=validator&minimum=30",
    "order=standing&limit=5",
    "order=registered&active=true",
    "order=updated&x402=true",
    "order=last_active&rated=true&chain=31337",
    "owner=OWNER",
    "wallet=OWNER",
    "capability=mcp_tool:weather_read&service=mcp",
    "tag=starred&payment=claimed",
    "blind=only&tag=starred",
    "registered_from=1700000000&updated_to=1700200000",
    "gate=tag%3Dstarred,minimum%3D50&gate=side%3Dclient,minimum%3D20",
)
FEEDBACK_SEARCHES = (
    "",
    "agent=31337:1",
    "agent=31337:1&reviewer=CLIENT&revoked=true",
    "reviewer=CLIENT&tag1=starred",
    "tag=quality&minimum=50&maximum=90",
    "given_from=1700100000&given_to=1700200000",
    "answered=true",
    "paid=true",
    "tool=forecast",
    "blind=only",
)


def checks():
    """Return checks of all servers and clients, a line each. A hash stands for what the line leaves out."""
    lines = []
    with served(town().engine) as client:
        for side, asked in (("server", _server_questions()), ("client", _client_questions())):
            for question in asked:
                answer = client.get(f"/v1/checks/{side}", params=question)
                lines.append(json.dumps(_check(side, question, answer), separators=(",", ":")))
    assert len(lines) >= 500
    return "\n".join(lines) + "\n"


def _server_questions():
    trusted = [("trust_account", account(CLIENTS + number)) for number in range(4)]
    variants = (
        [("pay_to", "OWNER"), ("amount", "0.5")],
        [("amount", "50"), ("policy", "strict")],
        [("policy", "own-list"), *trusted],
        [("minimum_rating", "85"), ("minimum_raters", "4"), ("amount", "0")],
        [("findings", "false"), ("maximum_repeats", "1"), ("repeat_days", "3"), ("blind", "only")],
        [("client", account(CLIENTS + 2)), ("own_experience", "true"), ("pay_to", account(OWNERS + 3))],
        [("minimum_lower_bound", "60"), ("maximum_rating_age_days", "2"), ("minimum_age_days", "5")],
        [
            *(("at_block", "70"), ("findings", "false"), ("tag", "quality"), ("severity", "inactive:decline")),
            *(("files", "90"), ("require_payment_proof", "true")),
        ],
        [
            *(("validator", account(VALIDATOR)), ("minimum_validations", "1"), ("minimum_validation", "50")),
            *(("newcomers", "decline"), ("recent_days", "30"), ("require_domain", "true"), ("trust_agent", "7")),
        ],
    )
    for agent in range(1, AGENTS + 2):
        owner = account(OWNERS + agent % 30)
        for variant in variants:
            filled = ((key, owner if value == "OWNER" else value) for key, value in variant)
            yield [("agent", f"{CHAIN_ID}:{agent}"), *filled]


def _client_questions():
    variants = (
        [("server", f"{CHAIN_ID}:1"), ("policy", "strict")],
        [("anonymous", "decline"), ("minimum_buyer_score", "10"), ("findings", "false")],
        [("server", f"{CHAIN_ID}:2"), ("own_experience", "true"), ("at_block", "90"), ("findings", "false")],
    )
    numbers = (*range(CLIENTS, CLIENTS + 17), *range(RING, RING + 2), OPERATOR)
    clients = [*(f"{CHAIN_ID}:{agent}" for agent in range(1, AGENTS + 2)), *map(account, numbers)]
    for name in clients:
        for variant in variants:
            yield [("client", name), *variant]


def _check(side, question, answer):
    body = rounded(answer.json())
    line = {"side": side, "question": urlencode(question), "status": answer.status_code}
    if answer.status_code != 200:
        return line | {"answer": body}
    return line | {
        "verdict": body["verdict"],
        "whole": sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16],
        "reasons": [[reason["code"], reason["severity"], reason["sentence"]] for reason in body["reasons"]],
        "figures": _short(body["figures"]),
    }


def _short(value):
    """Return figures without those that are missing, with the place of an event alone."""
    if isinstance(value, list):
        return [_short(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if "transaction" in value and "log_index" in value:
        return f"{value.get('event')} {value['block']}.{value['log_index']}"
    return {key: _short(entry) for key, entry in sorted(value.items()) if entry is not None}


def rounded(value):
    """Return JSON with floats of as many digits as all machines agree on."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    return {key: rounded(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def answers():
    """Return the status and the body of each route, and of more questions."""
    recorded = {}
    with served(town().engine) as client:
        for method, url, body in _requests(client):
            response = client.request(method, url, json=body)
            name = f"{method} {url}" + (f" {json.dumps(body)}" if body else "")
            recorded[name] = {"status": response.status_code, "body": _body(response)}
    return json_text(recorded)


def _requests(client):
    findings = client.get("/v1/findings", params={"chain": CHAIN_ID}).json()["items"]
    clusters = client.get("/v1/clusters", params={"chain": CHAIN_ID}).json()["items"]
    entry = client.get(f"/v1/agents/{AGENT}/feedback", params={"limit": 1}).json()["items"][0]
    values = VALUES | {
        "finding_id": findings[0]["id"],
        "cluster": clusters[0]["cluster"],
        "id": entry["id"],
    }
    for path, operations in sorted(client.get("/openapi.json").json()["paths"].items()):
        for method, operation in operations.items():
            if path in NOT_RECORDED:
                continue
            required = [param for param in operation.get("parameters", ()) if param.get("required")]
            query = {param["name"]: values[param["name"]] for param in required if param["in"] == "query"}
            url = path.format(**values) + (f"?{urlencode(query)}" if query else "")
            yield method.upper(), url, {} if method == "post" else None
    for url in MORE:
        yield "GET", url, None
    for query in GRAPHQL:
        yield "POST", "/graphql", {"query": query}
    yield "POST", "/api/buyers", {"addresses": [OWNER, CLIENT]}
    yield "POST", "/api/v1/search", {"query": "weather"}
    for side in ("server", "client"):
        question = {"agent" if side == "server" else "client": AGENT, "policy": {"minimum_rating": 60}}
        yield "POST", f"/v1/checks/{side}", question


def _body(response):
    is_json = response.headers.get("content-type", "").partition(";")[0].endswith("json")
    return rounded(response.json()) if is_json else response.text


def searches():
    """Return the statements that searches for agents and feedback execute on SQLite."""
    lines = []
    paths = {"agents": SEARCHES, "feedback": FEEDBACK_SEARCHES}
    # A fixed clock of the process, too: the state of the index is read once, and not now and then between searches.
    with served(town().engine) as client, patch("time.monotonic", lambda: 1_000_000.0):
        client.get(f"/v1/agents/{AGENT}")
        for kind, queries in paths.items():
            for query in queries:
                filled = query.replace("CLIENT", CLIENT).replace("OWNER", OWNER)
                chain = f"&chain={CHAIN_ID}" if kind == "feedback" else ""
                with noted_reads() as statements:
                    response = client.get(f"/v1/search/{kind}?{filled}{chain}")
                assert response.status_code == 200, (query, response.text)
                lines += [f"-- {kind}: {query}", *(_broken(text) for text in statements if text != OF_CONNECTION), ""]
    return "\n".join(lines)


def _broken(statement):
    """Return a statement with a line for each of its parts, so that a difference is short."""
    return re.sub(r" (FROM|WHERE|AND|ORDER BY|GROUP BY|(?:LEFT OUTER )?JOIN) ", r"\n  \1 ", " ".join(statement.split()))


def changes():
    """Return a change of each kind and event, one that was taken back, and the body of a delivery to a webhook."""
    recorded = {}
    for engine in (town().engine, replayed_chain().engine):
        with served(engine, needs_analysis=False) as client:
            page = rounded(client.get("/v1/changes", params={"since": "0", "limit": 1_000}).json())
            items = page.pop("items")
            for item in items:
                taken_back = "taken back" if item["retracts"] else "happened"
                recorded.setdefault(f"{item['kind']} {item['event']} {taken_back}", item)
            first = items[0]["id"]
    body = _delivery(replayed_chain.__wrapped__().engine)  # of its own, because it writes
    body["changes"] = body["changes"][:2]
    return json_text({"changes": recorded, "page": page, "first": first, "delivery": body})


def _delivery(engine):
    key, stop = OKPKey.generate_key("Ed25519"), threading.Event()
    with receiving(key) as receiver, patch("secrets.token_hex", lambda _: "0" * 32):
        with engine.begin() as connection:
            id_ = subscribe(connection, receiver.url, FeedFilter(), owner="shop", since="0", allow_private=True)
        deliverer = Deliverer(engine, Signer(key), stop, Network(allow_private=True))
        thread = threading.Thread(target=deliverer.run)
        thread.start()
        try:
            wait_until(lambda: receiver.deliveries)
        finally:
            stop.set()
            thread.join()
            with engine.begin() as connection:
                remove_webhook(connection, id_)
        return receiver.deliveries[0]


def rows():
    """Return the rows of each table and view of the replayed chain, in order."""
    lines = []
    with replayed_chain().engine.connect() as connection:
        tables = connection.exec_driver_sql("PRAGMA table_list").mappings().all()
        names = [entry["name"] for entry in tables if entry["type"] in ("table", "view") and entry["schema"] == "main"]
        for name in sorted(names):
            if name.startswith(("sqlite_", "alembic_")):
                continue
            result = connection.exec_driver_sql(f'SELECT * FROM "{name}"')  # noqa: S608  # a name of a table
            columns = [column for column in tuple(result.keys()) if (name, column) != MEASURED]
            stored = sorted("  " + " | ".join(_text(row[column]) for column in columns) for row in result.mappings())
            lines += [f"{name}: {' | '.join(columns)}", *stored]
    return "\n".join(lines) + "\n"


def _text(value):
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, str) and value.startswith(("{", "[")):
        with suppress(ValueError):
            return json.dumps(rounded(json.loads(value)))
    return repr(rounded(value))

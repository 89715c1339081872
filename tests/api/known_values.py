"""Values that an index has, put into the OpenAPI document: requests that are made of it then find something."""

from __future__ import annotations

import copy
from urllib.parse import quote

QUERIES = (
    "{ _meta { block { number } } }",
    "{ agents { id feedback(first: 2) { value } registrationFile { name } } }",
    "{ feedbacks(first: 3, orderBy: createdAt, orderDirection: desc) { id agent { id } responses { id } } }",
)


def with_known_values(client, document):
    """Return the OpenAPI document with the values that an index has in the place of most texts of requests.

    Args:
        client: A client of the service.
        document: The document.
    """
    changed = copy.deepcopy(document)
    known = known_values(client)
    for path, operations in changed["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if values := known.get(parameter["name"]):
                    is_list = parameter["schema"].get("type") == "array" or "array" in str(parameter["schema"])
                    entry = {"enum": values}
                    parameter["schema"] = {"type": "array", "items": entry, "maxItems": 2} if is_list else entry
            _know_cursor(client, path, operation, known)
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            name = body.get("$ref", "").rpartition("/")[2]
            for field, schema in changed["components"]["schemas"].get(name, body).get("properties", {}).items():
                if values := known.get(field):
                    schema.clear()
                    schema["enum"] = values
    return changed


def known_values(client):
    """Return the values that an index has, by the names of parameters."""
    (chain, *_) = [item["progress"]["chain_id"] for item in client.get("/v1/chains").json()["items"]]
    agents = client.get("/v1/search/agents", params={"limit": 50}).json()["items"]
    feedback = client.get("/v1/search/feedback", params={"chain": chain, "limit": 50}).json()["items"]
    ids, accounts = (
        [agent["id"] for agent in agents],
        sorted({agent["owner"] for agent in agents} | {entry["client"] for entry in feedback}),
    )
    tags = sorted({entry["tag1"] for entry in feedback})
    return {
        **dict.fromkeys(("agent", "server"), ids),
        "client": accounts,
        "sellerGlobalId": [agent["global_id"] for agent in agents],
        **dict.fromkeys(("address", "account", "buyerAddress", "owner", "wallet", "reviewer"), accounts),
        **dict.fromkeys(("pay_to", "trust_account", "validator"), accounts),
        "trust_agent": ids,
        "chain": [chain],
        "chainId": [chain],
        "payment_chain": [chain],
        "id": [entry["id"] for entry in feedback],
        **dict.fromkeys(("tag", "tag1", "tag2"), tags),
        "q": ["weather", "translator", "w"],
        "query": [*QUERIES, "weather"],
        "severity": ["inactive:decline", "file_unconfirmed:note"],
        "newcomers": ["accept", "caution", "decline"],
        "anonymous": ["accept", "caution", "decline"],
        "capability": ["mcp_tool:forecast", "trust:reputation"],
        "metadata": ["category", "category=weather"],
        "gate": ["tag=starred,minimum=60"],
    }


def _know_cursor(client, path, operation, known):
    """Let the cursors of a list be that of its second page."""
    parameters = operation.get("parameters", ())
    cursor = next((parameter for parameter in parameters if parameter["name"] == "cursor"), None)
    if cursor is None:
        return
    asked = {
        parameter["name"]: known[parameter["name"]][0]
        for parameter in parameters
        if parameter.get("required") and parameter["name"] in known
    }
    for entry in parameters:
        if entry["in"] == "path":
            path = path.replace(f"{{{entry['name']}}}", quote(str(asked.pop(entry["name"], "")), safe=""))
    answer = client.get(path, params={**asked, "limit": 1})
    following = answer.json().get("next") if answer.is_success else None
    cursor["schema"] = {"enum": [following]} if following else {"type": "string", "maxLength": 0}

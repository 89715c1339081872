"""The groups and the commands of the root, with their one-line help. The root shows it without importing them."""

from __future__ import annotations

from typing import Final

GROUPS: Final = {
    "account": "Create, import and list the keystores that commands sign with.",
    "agent": "Register agents, show them, change them, transfer them.",
    "feedback": "Give feedback, read it, average it, answer it, revoke it.",
    "rate": "Rate clients and validators as a server, and read such ratings. A rating is final.",
    "blind": "Seal and open ratings that neither side sees before both have rated.",
    "validation": "Request validations of an agent's work, answer them, read the answers.",
    "auth": "Authorise feedback as an agent's owner, give it as a client, read it.",
    "signals": "Publish what a watchtower measures.",
    "transaction": "Speed up or cancel a pending transaction.",
    "deployment": "Show the registries in use and who can change their code; list the address book.",
    "check": "Ask before money moves: should I pay this server, should I serve this client?",
    "watch": "Print the changes of agents and accounts as the index records them.",
    "webhooks": "Send changes to the URLs of subscribers, signed; add, list and remove subscriptions.",
    "trust": "Find coordinated and false ratings, and score agents without them.",
    "buyer": "Read and write the records of buyers, which payments prove.",
    "x402": "Check a server that takes payments; rotate the keys that sign an agent's paid answers.",
    "solana": "Show an agent of SATI on Solana, and change it by its owner's key.",
    "index": "Index the events of all registries into SQL, and compare the rows with the chain.",
}
"""The help of each group, in the order of the help. The module of a group has the same name."""

COMMANDS: Final = {
    "info": ("info", "Show the chain, its last block, the registries, and the signer with its balance."),
    "search": ("search", "Find agents in the index by words, by what they do, and by how they are rated."),
    "serve": ("service", "Serve agents, ratings and searches over HTTP, and follow the chains meanwhile."),
    "mcp": ("service", "Serve tools for models on the standard input and output (Model Context Protocol)."),
    "dev": (
        "dev",
        "Start a local chain with registries, token, facilitator, two agents and the service. Ctrl-C ends all of it.",
    ),
}
"""The module and the help of each command of the root that is imported when it runs."""

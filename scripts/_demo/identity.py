"""Chapter: agents register, prove a wallet, change hands, and are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilateral.core.signatures import AgentWalletSet, Domain
from scripts._demo.stage import ZERO_ADDRESS

if TYPE_CHECKING:
    from ape.contracts import ContractInstance

    from scripts._demo.stage import Stage

URI = "https://server.example/agent.json"
METADATA = [("agentName", b"Veritas"), ("category", b"validation")]
FIVE_MINUTES = 300


def play(stage: Stage) -> None:
    """Register the cast: agents of the server, the client and the validator.

    Args:
        stage: The stage; its `agents` have those roles afterwards.
    """
    stage.chapter("Identity")
    identity = stage.registry("IdentityRegistry")
    _register(stage, identity)
    _rotate_wallet(stage, identity)
    _change_hands(stage, identity)
    _resolve(stage, identity)


def _register(stage: Stage, identity: ContractInstance) -> None:
    server, client, founder = map(stage.account, ("server", "client", "founder"))
    stage.agents = {"server": 1, "client": 2, "validator": 3}

    with stage.step("The server registers its agent by the URI of its registration file.") as step:
        identity.register(URI, sender=server)
        step.check("agent", identity.agentOf(server), 1)
        step.check("owner", identity.ownerOf(1), server)
        step.check("wallet", identity.getAgentWallet(1), server)
        step.check("URI", identity.tokenURI(1), URI)
    with stage.step("The client registers its agent by domain.") as step:
        identity.newAgent("Client.example", client, sender=client)
        step.check("agent", identity.agentOf(client), 2)
        step.check("domain", identity.getAgent(2).agentDomain, "Client.example")
    with stage.step("A founder registers a validator's agent with metadata.") as step:
        identity.register("https://veritas.example/agent.json", METADATA, sender=founder)
        step.check("agent", identity.agentOf(founder), 3)
        for key, value in METADATA:
            step.check(key, bytes(identity.getMetadata(3, key)), value)

    stranger = stage.account("stranger")
    with stage.refused(identity.DomainAlreadyRegistered, "A stranger wants the client's domain, in other letters."):
        identity.newAgent("CLIENT.EXAMPLE", stranger, sender=stranger)
    with stage.refused("Not authorized", "The stranger wants to replace the server's URI."):
        identity.setAgentURI(1, "https://stranger.example/agent.json", sender=stranger)


def _rotate_wallet(stage: Stage, identity: ContractInstance) -> None:
    server, client, hot_wallet = map(stage.account, ("server", "client", "the server's wallet"))
    deadline = stage.now() + FIVE_MINUTES
    consent = AgentWalletSet(agent_id=1, new_wallet=hot_wallet.address, owner=server.address, deadline=deadline)
    domain = Domain(identity.provider.chain_id, identity.address)
    signature = hot_wallet.sign_message(consent.signable(domain)).encode_rsv()

    with stage.refused("invalid wallet sig", "The client wants that wallet for its own agent, by the same signature."):
        identity.setAgentWallet(2, hot_wallet, deadline, signature, sender=client)
    with stage.step("The server rotates its wallet; the new one has agreed by an EIP-712 signature.") as step:
        identity.setAgentWallet(1, hot_wallet, deadline, signature, sender=server)
        step.check("wallet", identity.getAgentWallet(1), hot_wallet)
        step.check("the wallet speaks as agent", identity.agentOf(hot_wallet), 1)
    with stage.step("The client is asked to pay that wallet; before it pays, it looks up whose it is.") as step:
        step.check("wallet of the server's agent", identity.getAgentWallet(1), hot_wallet)


def _change_hands(stage: Stage, identity: ContractInstance) -> None:
    founder, validator = stage.account("founder"), stage.account("validator")
    with stage.step("The founder transfers agent 3 to the validator, which clears the agent's wallet.") as step:
        identity.transferFrom(founder, validator, 3, sender=founder)
        step.check("owner", identity.ownerOf(3), validator)
        step.check("wallet", identity.getAgentWallet(3), ZERO_ADDRESS)
        step.check("the founder speaks as agent", identity.agentOf(founder), 0)
        step.check("the validator as", identity.agentOf(validator), 0)
    with stage.refused(
        identity.NotOwnerOrWallet, "The founder wants to go on speaking as agent 3.", account=founder, agentId=3
    ):
        identity.setPrimaryAgent(3, sender=founder)
    with stage.step("The validator chooses to speak as agent 3: nobody is made to speak as an agent.") as step:
        identity.setPrimaryAgent(3, sender=validator)
        step.check("the validator speaks as agent", identity.agentOf(validator), 3)


def _resolve(stage: Stage, identity: ContractInstance) -> None:
    domains = {1: "server.example", 2: "Client.example", 3: "veritas.example"}
    for role in ("server", "validator"):
        agent_id = stage.agents[role]
        with stage.step(f"The {role} takes a domain as well.") as step:
            identity.updateAgent(agent_id, domains[agent_id], ZERO_ADDRESS, sender=stage.account(role))
            step.check("domain", identity.getAgent(agent_id).agentDomain, domains[agent_id])

    rows = []
    for role, agent_id in stage.agents.items():
        with stage.step(f"The {role}'s agent is found by address and by domain.") as step:
            account = stage.account(role)
            by_address = identity.resolveByAddress(account)
            by_domain = identity.resolveByDomain(domains[agent_id].upper())
            step.check("by address", by_address.agentId, agent_id)
            step.check("by domain", by_domain.agentId, agent_id)
            step.check("pay to", by_domain.agentAddress, by_address.agentAddress)
            wallet, uri = identity.getAgentWallet(agent_id), identity.tokenURI(agent_id)
            rows.append((agent_id, domains[agent_id], account, wallet, uri))
    stage.table("Agents", ("id", "domain", "owner", "wallet", "URI"), rows)

"""Two sides that paid and were paid, and that sealed ratings of each other for a relay."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import select

from bilateral.client import Client
from bilateral.client.blind_vault import BlindVault
from bilateral.x402.aggregator.tables import blind_pair
from tests.x402.aggregator.world import send_payment
from tests.x402.world import NETWORK

RATING, VALUE = 88, 12


@dataclass
class Deal:
    """Two sides that paid and were paid, with their messages to the relay."""

    client: object
    server: object
    client_id: int
    server_id: int
    messages: dict
    vaults: list

    @property
    def signed(self):
        return {side: vault.all()[0].signed for side, vault in zip(("server", "client"), self.vaults, strict=True)}

    @property
    def openings(self):
        return {side: vault.all()[0].opening for side, vault in zip(("server", "client"), self.vaults, strict=True)}

    def with_interaction(self, folder, interaction):
        """Return a deal of the same sides, about another payment and with other ratings."""
        vaults = [BlindVault(folder / name) for name in ("other-server.sqlite", "other-client.sqlite")]
        payer = self.messages["server"]["envelope"]["client"]
        offer = self.server.seal_rating(vaults[0], self.client_id, RATING - 1, client=payer, interaction=interaction)
        self.client.seal_feedback(vaults[1], offer, VALUE + 1, "starred")
        return replace(self, vaults=vaults)

    def state(self):
        return self.client.get_blind_status(self.client_id, self.server_id).state

    def message(self, side, **changes):
        return json.dumps(self.messages[side] | changes).encode()


@pytest.fixture
def deal(web3, token, enrich, register, rpc, deployment, loader, tmp_path):
    """A new client that paid a new server, and the envelopes and openings of both."""
    payer, payee = enrich(), enrich()
    client_id, server_id = register(payer), register(payee)
    receipt = send_payment(web3, token, payer, payee.address, 1000)
    interaction = bytes(receipt["transactionHash"])
    vaults = [BlindVault(tmp_path / name) for name in ("server.sqlite", "client.sqlite")]
    options = {"deployment": deployment, "loader": loader, "poll_interval": 0.02}
    with Client(rpc, signer=payee, **options) as server, Client(rpc, signer=payer, **options) as client:
        offer = server.seal_rating(vaults[0], client_id, RATING, client=payer.address, interaction=interaction)
        answer = client.seal_feedback(vaults[1], offer, VALUE, "starred")
        messages = {
            side: {
                "network": NETWORK,
                "envelope": json.loads(kept.signed.to_json()),
                "opening": json.loads(kept.opening.to_json()),
            }
            for side, kept in (("server", vaults[0].all()[0]), ("client", vaults[1].all()[0]))
        }
        assert messages["client"]["envelope"]["seal"] == "0x" + answer.envelope.seal.hex()
        yield Deal(client, server, client_id, server_id, messages, vaults)


def openings(engine):
    """Return the openings that the relay holds."""
    columns = blind_pair.c.client_opening, blind_pair.c.server_opening
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(select(*columns))]

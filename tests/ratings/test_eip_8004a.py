"""The five test cases of EIP-8004a, by name, and its scale."""

from __future__ import annotations

import ape
import pytest

from tests.helpers import logged


@pytest.mark.usefixtures("validator_id")
def test_1_server_rates_client(registry, server, server_id, client_id):
    receipt = registry.rateClient(client_id, 95, sender=server)
    assert logged(receipt) == [("ClientRated", {"clientId": client_id, "serverId": server_id, "rating": 95})]
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 95)


def test_2_check_client_reputation_before_serving(
    registry, project, identity, deployer, server, server_id, client, client_id
):
    registry.rateClient(client_id, 35, sender=server)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 35)
    service = deployer.deploy(project.GatedService, registry, identity, server_id, True)
    with ape.reverts(service.ClientDeclined, clientId=client_id, serverId=server_id, rating=35, minimum=70):
        service.serve(sender=client)


def test_3_validator_receives_rating(registry, server, server_id, validator_id):
    receipt = registry.rateValidator(validator_id, 92, sender=server)
    assert logged(receipt) == [("ValidatorRated", {"validatorId": validator_id, "serverId": server_id, "rating": 92})]
    assert tuple(registry.getValidatorRating(validator_id, server_id)) == (True, 92)


def test_4_no_rating_exists(registry, project, identity, deployer, server_id, client, client_id):
    assert tuple(registry.getClientRating(client_id, server_id)) == (False, 0)
    service = deployer.deploy(project.GatedService, registry, identity, server_id, True)
    service.serve(sender=client)
    assert service.served(client_id) == 1


def test_5_rating_immutability(registry, server, server_id, client_id):
    registry.rateClient(client_id, 80, sender=server)
    with ape.reverts(registry.AlreadyRated, subjectId=client_id, serverId=server_id):
        registry.rateClient(client_id, 90, sender=server)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 80)


@pytest.mark.parametrize("rating", [0, 30, 31, 60, 61, 80, 81, 100])
def test_every_step_of_the_scale_is_a_rating(registry, server, server_id, client_id, rating):
    registry.rateClient(client_id, rating, sender=server)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, rating)

"""Reads of ratings and authorisations that nobody wrote: in an empty registry, and of ids that differ in high bits."""

from __future__ import annotations

import pytest

HIGH_BITS = [8, 16, 32, 64, 128, 160, 255]


@pytest.mark.parametrize(("subject_id", "server_id"), [(0, 0), (1, 2), (2, 1), (2**256 - 1, 2**256 - 1)])
def test_empty_registry_has_neither_ratings_nor_authorisations(deployer, project, subject_id, server_id):
    empty = deployer.deploy(project.BidirectionalReputationRegistry, deployer.deploy(project.IdentityRegistry))
    assert tuple(empty.getClientRating(subject_id, server_id)) == (False, 0)
    assert tuple(empty.getValidatorRating(subject_id, server_id)) == (False, 0)
    has_rating, ratings = empty.getClientRatings([subject_id], server_id)
    assert (list(has_rating), list(ratings)) == ([False], [0])
    assert tuple(empty.isFeedbackAuthorized(subject_id, server_id)) == (False, bytes(32))
    assert empty.getFeedbackAuthId(subject_id, server_id) == bytes(32)


@pytest.mark.parametrize("high_bit", HIGH_BITS)
def test_authorisation_is_not_that_of_an_agent_whose_id_differs_in_a_high_bit(
    registry, server, server_id, client_id, high_bit
):
    registry.acceptFeedback(client_id, server_id, sender=server)
    for pair in ((client_id + 2**high_bit, server_id), (client_id, server_id + 2**high_bit)):
        assert tuple(registry.isFeedbackAuthorized(*pair)) == (False, bytes(32))
        assert registry.getFeedbackAuthId(*pair) == bytes(32)

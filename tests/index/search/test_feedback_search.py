"""Searches for feedback find what a plain filter in Python finds, the newest first, on both engines."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pytest
from sqlalchemy import select, text

from bench.world.people import IDENTITY, REPUTATION
from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.files.tables import payment_claim
from bilateral.index.log import tables as schema
from bilateral.index.reading.registries import AgentKey
from bilateral.index.search.feedback import FeedbackSearch, search_feedback
from simulation.events import encoded
from tests.index.conftest import CHAIN_ID
from tests.index.files.conftest import CLIENT, registered

VALUES = ((100, 0), (-5, 1), (10**38, 18), (-(10**38), 0), (87 * 10**17, 18), (2**63, 0), (-(2**63) - 1, 2), (0, 18))


def key_of(agent_id):
    return AgentKey(31337, IDENTITY, agent_id, (REPUTATION,))


@pytest.fixture(scope="module")
def all_feedback(world_engine):
    """All open feedback of the world, the newest first, with what is known of it."""
    with world_engine.connect() as connection:
        rows = connection.execute(select(schema.metadata.tables["new_feedback"])).all()
        revoked, answered = (
            {(row.agent_id, row.client_address, row.feedback_index) for row in connection.execute(select(table))}
            for table in (schema.metadata.tables["feedback_revoked"], schema.metadata.tables["response_appended"])
        )
        paid = {(row.block_number, row.log_index) for row in connection.execute(select(payment_claim))}
    rows_of = []
    for row in sorted(rows, key=lambda row: (row.block_number, row.log_index), reverse=True):
        place, name = (row.block_number, row.log_index), (row.agent_id, row.client_address, row.feedback_index)
        value = Fraction(int(row.value), 10**row.value_decimals)
        rows_of.append((row, value, name in revoked, name in answered, place in paid))
    return rows_of


def matches(search, entry):
    row, value, is_revoked, is_answered, is_paid = entry
    return (
        (not search.agents or int(row.agent_id) in {agent.agent_id for agent in search.agents})
        and (not search.reviewers or row.client_address in search.reviewers)
        and search.tag1 in (None, row.tag1)
        and search.tag2 in (None, row.tag2)
        and (not search.tags or bool({row.tag1, row.tag2} & set(search.tags)))
        and (search.minimum is None or value >= Fraction(search.minimum))
        and (search.maximum is None or value <= Fraction(search.maximum))
        and (search.given_from is None or row.block_time >= search.given_from)
        and (search.given_to is None or row.block_time <= search.given_to)
        and search.is_answered in (None, is_answered)
        and search.has_payment in (None, is_paid)
        and (search.include_revoked or not is_revoked)
    )


def test_random_searches_find_what_a_plain_filter_finds(connection, all_feedback):
    chance, found_some = random.Random(5), 0  # noqa: S311  # reproducible, not secret
    for _ in range(60):
        row, value, *_ = chance.choice(all_feedback)
        options = {
            "agents": (key_of(int(row.agent_id)), key_of(1)),
            "reviewers": (row.client_address.lower(), all_feedback[0][0].client_address),
            "tag1": row.tag1,
            "tag2": row.tag2,
            "tags": (row.tag1, "week"),
            "minimum": Decimal(value.numerator) / value.denominator,
            "maximum": Decimal(value.numerator) / value.denominator,
            "given_from": row.block_time,
            "given_to": row.block_time,
            "is_answered": chance.random() < 0.5,
            "has_payment": chance.random() < 0.5,
            "include_revoked": True,
        }
        names = chance.sample(sorted(options), chance.randint(0, 3))
        search = FeedbackSearch(31337, **{name: options[name] for name in names})
        expected = [(entry[0].block_number, entry[0].log_index) for entry in all_feedback if matches(search, entry)]
        places, cursor = [], None
        while True:
            page = search_feedback(connection, search, limit=400, cursor=cursor)
            places += [(item.block, item.log_index) for item in page.items]
            if (cursor := page.next) is None:
                break
        assert places == expected, search
        found_some += bool(expected)
    assert found_some >= 40


def test_values_of_any_size_are_compared_exactly(story):
    story.block(*registered(""))
    for index, (value, decimals) in enumerate(VALUES, 1):
        texts = (bytes(32), b"quality", b"", b"", b"")
        log = encoded(Registry.BIDIRECTIONAL, "NewFeedback", 1, CLIENT, index, value, decimals, *texts, bytes(32))
        story.block(log)
    exact = {index: Fraction(value, 10**decimals) for index, (value, decimals) in enumerate(VALUES, 1)}
    limits = {Decimal(value).scaleb(-decimals) for value, decimals in VALUES}
    limits |= {Decimal("8.71"), Decimal(2**63 - 1), Decimal(-(2**63)), Decimal("1e38"), Decimal("-1e38"), Decimal(-1)}
    with story.engine.connect() as connection:
        for limit in limits:
            for name, passes in (
                ("minimum", lambda value, at: value >= at),
                ("maximum", lambda value, at: value <= at),
            ):
                page = search_feedback(connection, FeedbackSearch(CHAIN_ID, **{name: limit}))
                expected = {index for index, value in exact.items() if passes(value, Fraction(limit))}
                assert {item.feedback_index for item in page.items} == expected, (name, limit)


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        ({"minimum": Decimal("1e39")}, "minimum 1E+39 is not a number between -1e38 and 1e38"),
        ({"maximum": Decimal("NaN")}, "maximum NaN is not a number between -1e38 and 1e38"),
        ({"given_to": -1}, "the time or chain id -1 is out of range 0..2^63-1"),
        ({"reviewers": ("x",)}, 'reviewer "x" is not an address: expected 0x and 40 hexadecimal digits'),
        ({"tags": ("a",) * 201}, "the filter has 201 tags, but at most 200 are allowed"),
        ({"agents": (AgentKey(1, IDENTITY, 7, ()),)}, "the agent 1:7 is not on chain 31337"),
    ],
    ids=["minimum", "maximum", "time", "reviewer", "tags", "agent"],
)
def test_a_condition_out_of_range_is_refused(conditions, problem):
    with pytest.raises(InvalidArgumentError) as raised:
        FeedbackSearch(31337, **conditions)
    assert str(raised.value) == problem


def test_hostile_texts_find_nothing(connection):
    for value in ("x' OR 1=1 --", "\0", "\ud800", "%"):
        for name in ("tag1", "tag2", "tool"):
            assert search_feedback(connection, FeedbackSearch(31337, **{name: value})).items == (), name
    assert connection.execute(text("SELECT count(*) FROM new_feedback")).scalar_one() > 0

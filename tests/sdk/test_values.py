"""Values: exact conversion between numbers for people and the fixed point (best practices, "Value/ValueDecimals")."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bilateral.core.errors import InvalidArgumentError, UnrepresentableValueError
from bilateral.core.values import (
    STANDARD_TAGS,
    FeedbackValue,
    human_for_tag,
    resembled_tag,
    stars_to_value,
    value_for_tag,
    value_to_stars,
)

stored_values = st.builds(FeedbackValue, st.integers(-(10**38), 10**38), st.integers(0, 18))


@given(stored_values)
@example(FeedbackValue(-(10**38), 18))
@example(FeedbackValue(0, 18))
def test_a_stored_value_survives_its_human_form(value):
    assert FeedbackValue.of(value.human) == FeedbackValue.of(str(value)) == value


@given(stored_values)
def test_precision_of_the_context_does_not_matter(value):
    with localcontext() as context:
        context.prec = 3
        assert FeedbackValue.of(value.human) == value


@given(st.decimals())
def test_any_decimal_is_kept_exactly_or_refused(number):
    try:
        value = FeedbackValue.of(number)
    except UnrepresentableValueError:
        assert not number.is_finite() or number.as_tuple().exponent < -18 or abs(number) >= Decimal("1e20")
    else:
        assert value.human == number


@given(stored_values, st.integers(0, 18))
def test_asking_for_decimals_changes_the_form_but_never_the_number(value, decimals):
    try:
        other = FeedbackValue.of(value.human, decimals)
    except UnrepresentableValueError:
        lost = decimals < value.decimals and value.value % 10 ** (value.decimals - decimals)
        assert lost or abs(value.value) * 10 ** (decimals - value.decimals) > 10**38
    else:
        assert other.decimals == decimals
        assert other.human == value.human


@pytest.mark.parametrize(
    ("tag1", "tag2", "human", "value", "decimals"),
    [
        ("starred", "", "87", 87, 0),
        ("reachable", "", True, 1, 0),
        ("ownerVerified", "", True, 1, 0),
        ("uptime", "", "99.77", 9977, 2),
        ("successRate", "", "89", 89, 0),
        ("responseTime", "", 560, 560, 0),
        ("blocktimeFreshness", "", 4, 4, 0),
        ("revenues", "", 560, 560, 0),
        ("tradingYield", "week", "-3.2", -32, 1),
    ],
)
def test_every_row_of_the_best_practices_table(tag1, tag2, human, value, decimals):
    encoded = value_for_tag(tag1, human, tag2)
    assert encoded == FeedbackValue(value, decimals)
    assert human_for_tag(tag1, encoded) == (human if isinstance(human, bool) else Decimal(human))


def test_the_table_defines_nine_tags():
    assert set(STANDARD_TAGS) == {
        "starred", "reachable", "ownerVerified", "uptime", "successRate", "responseTime", "blocktimeFreshness",
        "revenues", "tradingYield",
    }  # fmt: skip


def test_decimals_stay_as_they_were_written():
    assert FeedbackValue.of("99.770") == FeedbackValue(99770, 3)
    assert FeedbackValue.of(Decimal("1E+2")) == FeedbackValue(100, 0)
    assert str(FeedbackValue(99770, 3)) == "99.770"


def test_false_is_zero():
    assert FeedbackValue.of(False) == FeedbackValue(0, 0)
    assert human_for_tag("reachable", FeedbackValue(0)) is False


def test_a_strangers_number_under_a_binary_tag_is_read_as_number():
    assert human_for_tag("reachable", FeedbackValue(57, 1)) == Decimal("5.7")


def test_the_limits_of_the_registry_pass_and_the_first_beyond_is_refused():
    assert FeedbackValue.of(10**38).value == 10**38
    assert FeedbackValue.of(-(10**38)).value == -(10**38)
    assert FeedbackValue.of("0." + "0" * 17 + "1") == FeedbackValue(1, 18)
    for beyond in (10**38 + 1, -(10**38) - 1, "1" + "0" * 38 + ".5"):
        with pytest.raises(UnrepresentableValueError, match="1e38"):
            FeedbackValue.of(beyond)
    with pytest.raises(UnrepresentableValueError, match="19 decimals: the registry supports 0 to 18"):
        FeedbackValue.of("0." + "0" * 18 + "1")
    with pytest.raises(UnrepresentableValueError, match="decimals 19 is out of range"):
        FeedbackValue(1, 19)
    with pytest.raises(UnrepresentableValueError, match="decimals -1 is out of range"):
        FeedbackValue(1, -1)


@pytest.mark.parametrize(
    ("human", "problem"),
    [
        (0.1, "a float is not exact"),
        (None, "a NoneType is not exact"),
        (Decimal("NaN"), "not a finite number"),
        (Decimal("-Infinity"), "not a finite number"),
        (Decimal("1e999999999"), "exceeds the registry's limit of 1e38"),
        (Decimal("1e-999999999"), "999999999 decimals"),
        pytest.param(10**5000, "exceeds the registry's limit of ±1e38", id="a huge integer"),
        ("1" * 5000, "exceeds the registry's limit of 1e38"),
        ("0." + "1" * 5000, "more digits than the registry can store"),
        ("", "not a plain decimal number"),
        (" 1", "not a plain decimal number"),
        ("1_000", "not a plain decimal number"),
        ("1,5", "not a plain decimal number"),
        ("1e3", "not a plain decimal number"),
        ("+1", "not a plain decimal number"),
        (".5", "not a plain decimal number"),
        ("\uff15", "not a plain decimal number"),
        ("1\n", "not a plain decimal number"),
    ],
)
def test_an_inexact_number_is_refused_by_name(human, problem):
    with pytest.raises(UnrepresentableValueError) as refusal:
        FeedbackValue.of(human)
    assert problem in str(refusal.value)
    assert refusal.value.reason == "unrepresentable_value"


@pytest.mark.parametrize(("human", "decimals"), [("1.25", 1), (Decimal("1e-999999999"), 2), ("0.01", 0)])
def test_decimals_that_would_round_are_refused(human, decimals):
    with pytest.raises(UnrepresentableValueError, match=f"cannot be represented exactly with {decimals} decimals"):
        FeedbackValue.of(human, decimals)


@pytest.mark.parametrize("decimals", [-1, 19])
def test_decimals_that_the_registry_does_not_keep_are_refused(decimals):
    with pytest.raises(UnrepresentableValueError, match="the registry supports 0 to 18"):
        FeedbackValue.of(1, decimals)


@pytest.mark.parametrize(
    ("tag1", "human", "tag2", "problem"),
    [
        ("starred", "100.01", "", "starred must be at most 100, not 100.01"),
        ("starred", -1, "", "starred must be at least 0, not -1"),
        ("starred", True, "", "starred requires a number"),
        ("reachable", 2, "", "reachable must be true or false (1 or 0)"),
        ("reachable", "0.5", "", "reachable must be true or false (1 or 0)"),
        ("uptime", 101, "", "uptime must be at most 100"),
        ("successRate", "100.1", "", "successRate must be at most 100"),
        ("responseTime", "-0.1", "", "responseTime must be at least 0"),
        ("tradingYield", 1, "decade", 'must be day or week or month or year, not "decade"'),
    ],
)
def test_a_value_that_is_invalid_under_its_tag_is_refused(tag1, human, tag2, problem):
    with pytest.raises(UnrepresentableValueError) as refusal:
        value_for_tag(tag1, human, tag2)
    assert problem in str(refusal.value)


def test_the_limits_of_a_tag_pass():
    assert value_for_tag("starred", 100).value == 100
    assert value_for_tag("starred", 0).value == 0
    assert value_for_tag("reachable", 1) == value_for_tag("reachable", True)
    assert value_for_tag("tradingYield", -250).value == -250


def test_an_unspecified_tag_takes_any_value():
    assert value_for_tag("cuteness", "-12.5") == FeedbackValue(-125, 1)


@pytest.mark.parametrize(("stars", "value"), [(1, 20), (2, 40), (3, 60), (4, 80), (5, 100)])
def test_stars_are_mapped_as_in_the_table(stars, value):
    assert stars_to_value(stars) == FeedbackValue(value)
    assert value_to_stars(FeedbackValue(value)) == stars


@given(st.integers(100, 500))
def test_parts_of_stars_survive(hundredths):
    stars = Decimal(hundredths) / 100
    assert value_to_stars(stars_to_value(stars)) == stars


@given(st.builds(FeedbackValue, st.integers(0, 10**20), st.just(18)))
def test_every_value_of_a_rating_has_exact_stars(value):
    assert value_to_stars(value) * 20 == value.human


def test_half_a_star_needs_no_decimals():
    assert stars_to_value("4.5") == FeedbackValue(90, 0)
    assert value_to_stars(FeedbackValue(87)) == Decimal("4.35")
    assert value_to_stars(FeedbackValue(0)) == 0


@pytest.mark.parametrize("stars", ["0.99", "5.01", 0, 6, -1, True])
def test_ratings_outside_one_to_five_stars_are_refused(stars):
    with pytest.raises(UnrepresentableValueError, match="1 to 5 stars"):
        stars_to_value(stars)


@pytest.mark.parametrize("value", [FeedbackValue(101), FeedbackValue(-1), FeedbackValue(10001, 2)])
def test_values_outside_a_hundred_have_no_stars(value):
    with pytest.raises(UnrepresentableValueError, match=r"is out of range 0..100"):
        value_to_stars(value)


@pytest.mark.parametrize("wrong", [1.5, True, "1", None, b"1"])
def test_a_stored_value_is_two_whole_numbers(wrong):
    for make in (lambda: FeedbackValue(wrong), lambda: FeedbackValue(5, wrong)):
        with pytest.raises(UnrepresentableValueError, match="two integers, value and decimals"):
            make()


@pytest.mark.parametrize("wrong", [1.0, True, "2", b"2"])
def test_decimals_are_asked_for_by_a_whole_number(wrong):
    with pytest.raises(UnrepresentableValueError, match="decimals must be a whole number"):
        FeedbackValue.of("5", wrong)


@pytest.mark.parametrize(
    ("tag", "standard"),
    [
        ("Starred", "starred"),
        ("STARRED", "starred"),
        ("starred ", "starred"),
        (" starred", "starred"),
        ("star\u200bred", "starred"),
        ("st\u00e4rred", "starred"),
        ("5tarred", "starred"),
        ("$tarred", "starred"),
        ("uptirne", "uptime"),
        ("upt1me", "uptime"),
        ("uptlme", "uptime"),
        ("upt|me", "uptime"),
        ("up-time", "uptime"),
        ("resp0nseTime", "responseTime"),
        ("response_time", "responseTime"),
        ("\uff52\uff45\uff56\uff45\uff4e\uff55\uff45\uff53", "revenues"),
        ("ovvnerVerified", "ownerVerified"),
    ],
)
def test_a_tag_that_looks_like_a_standard_one_is_found(tag, standard):
    assert resembled_tag(tag) == standard


@pytest.mark.parametrize("tag", [*STANDARD_TAGS, "", "quality", "stared", "starredd", "up time of day", "x" * 300])
def test_other_tags_look_like_no_standard_one(tag):
    assert resembled_tag(tag) is None


@given(st.text(max_size=300))
def test_no_text_breaks_the_search_for_look_alikes(tag):
    text = resembled_tag(tag)
    assert text is None or (text in STANDARD_TAGS and text != tag)


def test_a_tag_is_a_text():
    for tag1, tag2 in (([], ""), (None, ""), ("tradingYield", 5)):
        with pytest.raises(InvalidArgumentError, match="expected str"):
            value_for_tag(tag1, 1, tag2)
    with pytest.raises(InvalidArgumentError, match="expected FeedbackValue"):
        value_to_stars("5")

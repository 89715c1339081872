"""Texts of strangers, names of chains, and figures."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.values.currency import dollars
from bilateral.explorer.agent_figures import Neighbour, neighbours
from bilateral.explorer.charts import bar, butterfly, identicon, neighbourhood
from bilateral.explorer.look_alikes import look_alikes, readings, shape
from bilateral.explorer.networks import agent_path, chain_of, slug_of, slugs
from bilateral.explorer.text import MAX_LENGTH, figure, short, timestamp, visible, web_link
from bilateral.index.ratings.neighbourhood import Edge
from tests.explorer.html import Page

UNSEEN = ("\0", "\x1b", "\u200b", "\u202e", "\u2066", "\ufeff", "\u2028", "\ue000", "\U000e0041")


@given(st.text(max_size=50))
def test_any_text_becomes_text_and_marks_only(text):
    reading = Page(f"<p>{visible(text)}</p>")
    assert {name for name, _ in reading.elements} <= {"p", "mark", "wbr"}
    assert not any(entry in visible(text) for entry in UNSEEN)


@pytest.mark.parametrize("character", UNSEEN, ids=lambda value: f"U+{ord(value):04X}")
def test_a_character_that_nobody_sees_is_drawn_as_a_mark(character):
    assert visible(f"a{character}b") == (
        f'a<mark class="code" title="invisible character">U+{ord(character):04X}</mark><wbr>b'
    )


def test_a_long_text_is_cut_and_says_so():
    assert visible("x" * MAX_LENGTH) == "x" * MAX_LENGTH
    assert visible("x" * (MAX_LENGTH + 1)) == "x" * MAX_LENGTH + "…"


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "https://user@host.example",
        "https://",
        "http://[",
        "//host.example",
        "ipfs://x",
        "",
    ],
)
def test_a_link_that_does_not_lead_to_the_web_is_not_made(uri):
    assert web_link(uri) is None


def test_a_link_to_the_web_is_made():
    assert web_link("https://host.example/a?b#c") == "https://host.example/a?b#c"


def test_chains_have_names_or_numbers():
    assert (slug_of(8453), slug_of(84532), slug_of(31337)) == ("base", "base-sepolia", "31337")
    assert (chain_of("base"), chain_of("31337"), chain_of("nowhere"), chain_of("007")) == (8453, 31337, None, None)
    assert len(set(slugs().values())) == len(slugs())
    assert agent_path("8453:247") == "/base/247"


def test_figures_have_one_digit_behind_the_point_at_most():
    shown = [figure(decimal) for decimal in (None, 90, 90.0, Decimal("89.96"), 1234567.25)]
    assert shown == ["\N{EN DASH}", "90", "90", "90", "1,234,567.2"]


def test_a_time_that_no_calendar_has_is_shown_as_seconds():
    assert timestamp(0) == "1 Jan 1970 00:00 UTC"
    assert timestamp(2**63) == f"second {2**63}"


def test_an_address_is_shortened_and_other_text_is_not():
    assert short("0x" + "ab" * 20) == "0xabab…abab"
    assert short("agent 7") == "agent 7"


def test_a_picture_depends_on_its_id_alone_and_is_mirrored():
    assert identicon("8453:1") == identicon("8453:1") != identicon("8453:2")
    columns = [float(entry["x"]) for entry in Page(identicon("8453:1", 60)).of("rect")[1:]]
    assert sorted(columns) == sorted(50 - column for column in columns)


@pytest.mark.parametrize(("share", "width"), [(-1, 3), (0, 3), (0.5, 60), (1, 120), (9, 120)])
def test_a_bar_is_filled_by_its_share_within_its_ends(share, width):
    assert float(Page(bar(share, "s")).of("rect")[1]["width"]) == width


def test_a_histogram_shows_every_count_and_has_a_text_for_readers():
    reading = Page(butterfly(range(10), [0] * 10))
    assert [part for part in reading.text.split() if "\N{EN DASH}" not in part] == [
        text for count in range(9, -1, -1) for text in (str(count), "0")
    ]
    assert "45 rated the agent as a server" in reading.of("svg")[0]["aria-label"]


def test_a_fan_escapes_names_and_marks_low_means():
    people = [Neighbour('"><script>', "/31337/1", 3, 20.0), Neighbour("b", "/31337/2", 1, None)]
    reading = Page(neighbourhood("31337:9", people, []))
    assert not reading.of("script")
    assert "bad" in reading.of("circle")[0]["class"]
    assert reading.attributes("href") == ["/31337/1", "/31337/2"]


def test_a_counterpart_with_several_tags_is_one_neighbour():
    edges = [
        Edge("received", "server", None, "0x" + "11" * 20, "starred", 3, 1.0),
        Edge("received", "server", None, "0x" + "11" * 20, "responseTime", 5, None),
        Edge("received", "server", None, "0x" + "11" * 20, "uptime", 1, 0.0),
        Edge("received", "server", "1:2", "0x" + "22" * 20, "starred", 1, 0.5),
        Edge("given", "server", "1:3", None, "starred", 9, 0.5),
        Edge("received", "client", "1:4", None, "", 1, 0.5),
    ]
    reading = neighbours(edges, "server", 8, {"1:2": "Painter"})
    assert [(neighbour.name, neighbour.count, neighbour.mean) for neighbour in reading] == [
        ("0x1111…1111", 9, 75.0),
        ("Painter", 1, 50.0),
    ]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Paypal Agent", "P\u0430ypa\u0406 Agent"),
        ("Weather Oracle", "We\u0430ther  \u041er\u0430cle"),
        ("com", "corn"),
        ("O2", "02"),
        ("Bilateral", "bi1ateral"),
        ("abc", "a\u200bb\u202ec"),
        ("Agent", "\uff21\U0001d420\u0435nt"),
        ("scope", "\u0455\u0441\u043e\u0440\u0435"),
    ],
    ids=["Cyrillic", "blanks", "two letters for one", "digits", "case", "invisible", "wide", "whole alphabet"],
)
def test_names_that_a_person_would_mix_up_have_one_shape(name, other):
    assert shape(name) == shape(other)
    assert look_alikes({"1:1": name, "1:2": other, "1:3": "Painter", "1:4": None}) == {"1:1", "1:2"}


@pytest.mark.parametrize(
    ("name", "reading"),
    [
        ("P\u0430ypal", ("paypal",)),
        ("PaypaI", ("paypal",)),
        ("G00gle", ("google",)),
        ("vvallet", ("wallet",)),
        ("Pa\u200bypal", ("paypal",)),
        ("Image Painter", ()),
        ("AI Agent 100", ()),
        ("Погода", ()),
        ("Café", ()),
        ("Bob\u2019s Agent \u2013 fast\u2026", ()),
        ("P\u0430ypal\u2019s", ("paypal's",)),
        ("", ()),
    ],
    ids=[
        *("Cyrillic", "capital", "digits", "two letters", "invisible", "plain", "short", "Russian", "accent", "signs"),
        *("Cyrillic and a sign", "none"),
    ],
)
def test_a_name_with_other_letters_has_the_reading_that_a_person_takes_it_for(name, reading):
    assert readings(name) == reading


def test_different_names_have_different_shapes():
    names = ("Weather Oracle", "Weather Oracles", "Painter", "Route Planner", "漢字", "漢", "")
    assert len({shape(name) for name in names}) == len(names)


@given(st.text(max_size=50))
def test_any_text_has_a_shape_that_is_its_own_shape(text):
    assert shape(shape(text)) == shape(text)


def test_small_amounts_show_as_many_digits_as_they_need():
    assert [
        dollars(Decimal(name)) for name in ("0", "0.001000", "0.000001", "0.0000001", "0.010000", "1234.500000")
    ] == [
        "0.00",
        "0.001",
        "0.000001",
        "0",
        "0.01",
        "1,234.50",
    ]

"""Badges for the sites of others, icons, and the rating over time."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import pytest
from PIL import Image

from bilateral.core.values.standing import Standing
from bilateral.explorer.agent_figures import Point
from bilateral.explorer.charts import over_time
from bilateral.explorer.pictures import badge

pytestmark = pytest.mark.one_engine


def standing(status, rating=78.25, raters=24, side="server"):
    """Return a standing of an agent."""
    figures = {"effective_raters": 2.0, "raters": raters, "payments": 1, "paid": 1.0, "evidence_cost": 1.0}
    bounds = {"rating": rating, "lower": 70.0, "upper": 90.0, "first_at": 1, "last_at": 2}
    return Standing(side=side, agent_id=1, status=status, **bounds, **figures)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("ok", "78 of 100, 24 raters"),
        ("thin", "thin, 24 raters"),
        ("contested", "contested, 24 raters"),
        ("held_back", "held back, 24 raters"),
    ],
)
def test_badge_says_standing_and_count_in_less_than_2_kilobytes_and_links_back(status, words):
    source = badge(f"8453:{2**256 - 1}", [standing(status)], "server")
    assert len(source.encode()) <= 2_000
    tree = ElementTree.fromstring(source)  # noqa: S314  # our own text
    (link,) = tree.findall("{*}a")
    assert link.get("href") == f"/base/{2**256 - 1}#deal"
    assert [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")] == ["as a server", words]
    assert "not rated yet" in badge("8453:1", [standing(status)], "client")


def test_badge_is_kept_for_minutes_and_its_frame_has_no_script(api):
    for path in ("/embed/31337/1.svg", "/embed/31337/1"):
        answer = api.get(path)
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "public, max-age=300")
        assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
        policy = answer.headers["Content-Security-Policy"]
        assert "frame-ancestors *" in policy
        assert not re.search("script|unsafe", policy)
        assert len(answer.content) <= 2_000
        again = api.get(path, headers={"If-None-Match": answer.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert 'src="/embed/31337/1.svg?side=client"' in api.get("/embed/31337/1?side=client").text
    for path in ("/embed/31337/999.svg", "/embed/31337/999", "/embed/5/1.svg"):
        assert api.get(path).status_code == 404
    assert "/embed/31337/1.svg" in api.get("/31337/1", headers={"Accept": "text/html"}).text


def test_icons_have_the_sizes_that_browsers_and_phones_ask_for(api):
    icon = Image.open(io.BytesIO(api.get("/favicon.ico").content))
    assert icon.info["sizes"] == {(16, 16), (32, 32), (48, 48)}
    assert Image.open(io.BytesIO(api.get("/apple-touch-icon.png").content)).size == (180, 180)


def test_rating_over_time_ends_at_the_figures_of_the_summary(api):
    content = api.get("/31337/1.json").json()
    summary, last = content["as_server"]["summary"], content["over_time"][-1]
    assert last["raters"] == summary["counterparts"]
    assert last["lower"] == pytest.approx(summary["lower_bound"], abs=1e-4)
    assert last["lower"] <= last["mean"] <= last["upper"]
    times = [moment["time"] for moment in content["over_time"]]
    assert times == sorted(times)
    assert 'aria-label="Rating over time: ' in api.get("/31337/1", headers={"Accept": "text/html"}).text


def test_chart_shows_the_rating_before_and_after_the_analysis():
    points = (Point(0, 40, 60, 80, 2), Point(86_400, 70, 80, 90, 5))
    before, both = over_time(points, (0, 100)), over_time(points, (0, 100), (10.0, 20.0, 30.0))
    assert "after the analysis" not in before
    assert "60 on 1 Jan, 80 on 2 Jan, between 70 and 90" in both
    assert "20 after the analysis, between 10 and 30" in both

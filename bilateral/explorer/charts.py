"""The pages' charts as SVG, and the environment for all templates.

Blue stands for the agent as a server, orange for the agent as a client.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from math import sqrt
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bilateral.explorer.agent_figures import Neighbour, Point
from bilateral.explorer.networks import agent_path
from bilateral.explorer.text import day, figure, plain, rounded, timestamp
from bilateral.index.measurements.queries import MeasuredDay


@cache
def environment() -> Environment:
    """Return the Jinja environment for this package's templates, which escapes all text."""
    shared = Environment(
        loader=PackageLoader("bilateral.explorer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shared.globals |= {"agent_path": agent_path, "figure": figure, "plain": plain}
    return shared


def drawn(macro: str, *values: Any, **options: Any) -> Markup:
    """Render computed figures with a macro from the chart template."""
    return Markup(getattr(environment().get_template("charts.svg.j2").module, macro)(*values, **options).strip())  # noqa: S704


_WIDTH: Final = 470  # pixels: half of a page
_ROW: Final = 23  # pixels: a line of text and the space below it
_GAP: Final = 27  # pixels for the label between the two sides
_FAN_WIDTH: Final = 820  # pixels: the width of a page
_FAN_HEIGHT: Final = 500
_CENTRE: Final = (_FAN_WIDTH / 2, _FAN_HEIGHT / 2 + 14)
_STRIP: Final = 320  # units, which are stretched to the width of a table cell
_LOW: Final = 50
"""The minimum mean that counts as good: half of the scale."""


def bar(share: float, kind: str, width: int = 120) -> Markup:
    """Return a partially filled bar."""
    return drawn("bar", width, max(3.0, width * min(max(share, 0.0), 1.0)), kind)


def butterfly(as_server: Sequence[int], as_client: Sequence[int]) -> Markup:
    """Return a two-sided histogram of counterparts by their mean: servers on the left, clients on the right."""
    rows, middle = len(as_server), _WIDTH / 2
    longest = middle - _GAP - 34
    bars, tenths = [], []
    for row in range(rows):
        tenth, y = rows - 1 - row, row * _ROW + 3
        tenths.append((y, f"{tenth * 10}\N{EN DASH}{100 if tenth == rows - 1 else tenth * 10 + 9}"))
        for counts, kind, sign in ((as_server, "s", -1), (as_client, "c", 1)):
            length = max(1.5, counts[tenth] / max(1, *counts) * longest)
            near = middle + sign * _GAP
            start, anchor = (near - length, "end") if sign < 0 else (near, "start")
            bars.append((kind, start, length, y, near + sign * (length + 6), anchor, counts[tenth]))
    label = (
        f"Raters by their mean: {sum(as_server)} rated the agent as a server (left), "
        f"{sum(as_client)} rated it as a client (right)"
    )
    return drawn("butterfly", _WIDTH, rows * _ROW + 6, bars, tenths, label)


def neighbourhood(agent: str, clients: Sequence[Neighbour], servers: Sequence[Neighbour]) -> Markup:
    """Return an agent's counterparts as a fan on each side. Dashed red lines mark means below half of the scale."""
    return drawn(
        "neighbourhood",
        *(_FAN_WIDTH, _FAN_HEIGHT, *_CENTRE),
        [*_fan(clients, -1, "blue"), *_fan(servers, 1, "orange")],
        identicon(agent, 62),
        f"Trust neighbourhood: {len(clients) + len(servers)} counterparts. The table of ratings lists them.",
        *(len(clients), len(servers)),
    )


def _fan(people: Sequence[Neighbour], sign: int, hue: str) -> Iterator[dict[str, Any]]:
    centre_x, centre_y = _CENTRE
    x = centre_x + sign * 218
    most = max((person.count for person in people), default=1)
    step = (_FAN_HEIGHT - 108) / max(len(people) - 1, 1)
    slots = sorted(range(len(people)), key=lambda slot: abs(slot - (len(people) - 1) / 2))  # the largest in the middle
    for place, person in zip(slots, people, strict=True):
        y = 62 + place * step if len(people) > 1 else centre_y
        size = sqrt(person.count / most)
        radius = 5 + 8.5 * size
        begin = f"M{centre_x + sign * 34:.1f} {centre_y:.1f}"
        curve = f"C{centre_x + sign * 118:.1f} {centre_y:.1f} {centre_x + sign * 112:.1f} {y:.1f}"
        yield {
            "person": person,
            "kind": "bad" if person.mean is not None and person.mean < _LOW else hue,
            "path": f"{begin} {curve} {x - sign * radius:.1f} {y:.1f}",
            "line": 1.2 + 7 * size,
            "x": x,
            "y": y,
            "radius": radius,
            "text_x": x + sign * (radius + 10),
            "anchor": "start" if sign > 0 else "end",
        }


def strip(places: Sequence[float], mean: float, hue: str = "s") -> Markup:
    """Return values as ticks on their scale, with a mark at the mean."""
    return drawn("strip", places, 4 + min(1.0, max(0.0, mean)) * _STRIP, hue)


def time_marks(times: Sequence[int]) -> Markup:
    """Return a timeline: a tick for each event between the first and the last."""
    first, last = times[0], times[-1]
    places = [(time - first) / ((last - first) or 1) for time in times]
    return drawn("time_marks", places, f"{len(times)} events from {timestamp(first)} to {timestamp(last)}")


def interval(least: float, rating: float, greatest: float, kind: str) -> Markup:
    """Return a bar from 0 to 100 that is pale between the bounds of a rating, with a mark at the rating."""
    first, mark, last = (_STRIP * min(max(value, 0.0), 100.0) / 100 for value in (least, rating, greatest))
    return drawn("interval", first, max(mark - 2, 0.0), max(last - first, 3.0), kind)


def axis(rows: Sequence[tuple[str, str, float, float, float]], kind: str) -> Markup:
    """Return several agents' ratings on one axis from 0 to 100: a line between the bounds, a dot at the rating."""
    left, step, width = 14, 44, 400
    scale = (width - 2 * left) / 100
    ranges: list[tuple[Any, ...]] = []
    for number, (name, words, *values) in enumerate(rows):
        places = (left + min(max(value, 0.0), 100.0) * scale for value in values)
        ranges.append((f"{plain(name, 30)}: {words}", number * step + 30, *places))
    label = "; ".join(words for words, *_ in ranges)
    marks = [(place, left + place * scale) for place in (0, 25, 50, 75, 100)]
    return drawn("axis", width, len(rows) * step + 22, left, marks, ranges, kind, label)


def over_time(
    points: Sequence[Point], scale: tuple[int, int], after: tuple[float, float, float] | None = None
) -> Markup:
    """Return a rating over time as a line with an uncertainty band and, to its right, the rating after the analysis."""
    width, height, right = 400, 150, 40 if after else 8
    first, last = points[0].time, points[-1].time
    least, greatest = scale

    def x(time: int) -> float:
        return 8 + (time - first) / ((last - first) or 1) * (width - 16 - right)

    def y(value: float, low: float = least, high: float = greatest) -> float:
        return 8 + (1 - (value - low) / (high - low)) * (height - 30)

    def path(places: Iterable[tuple[int, float]]) -> str:
        return "L".join(f"{x(time):.1f} {y(value):.1f}" for time, value in places)

    band = [(point.time, point.upper) for point in points] + [(point.time, point.lower) for point in reversed(points)]
    days = [day(time // 86_400) for time in (first, last)]
    label = (
        f"Rating over time: {figure(points[0].mean)} on {days[0]}, {figure(points[-1].mean)} on "
        f"{days[1]}, between {figure(points[-1].lower)} and {figure(points[-1].upper)}"
    )
    if after is not None:
        label += "; {} after the analysis, between {} and {}".format(*map(rounded, (after[1], after[0], after[2])))
    return drawn(
        "over_time",
        *(width, height),
        grid=[y(value) for value in (least, (least + greatest) / 2, greatest)],
        band=path(band),
        line=path((point.time, point.mean) for point in points),
        ends=(x(last), y(points[-1].mean)),
        days=days,
        after=[y(value, 0, 100) for value in after or ()],
        label=label,
    )


def money(received: Sequence[int], paid: Sequence[int], last_day: int) -> Markup:
    """Return a daily chart of the dollars that an account received (above the line) and paid (below the line)."""
    label = (
        f"Payments over {len(received)} days: ${sum(received) / 100:,.2f} received (above), ${sum(paid) / 100:,.2f} "
        "paid (below)"
    )
    return timeline(received, paid, last_day, label)


def timeline(up: Sequence[int], down: Sequence[int], last_day: int, label: str | None = None) -> Markup:
    """Return a daily chart of an agent's ratings as a server (above the line) and as a client (below the line)."""
    width, height = 400, 150
    middle, step, most = height * 0.56, width / len(up), max(1, *up, *down)
    bars = []
    for place, (above, below) in enumerate(zip(up, down, strict=True)):
        for count, kind in ((above, "s"), (below, "c")):
            if count:
                length = max(2.0, count / most * (middle - 14 if kind == "s" else height - middle - 22))
                y = middle - 1 - length if kind == "s" else middle + 1
                bars.append((kind, place * step + 0.6, y, step - 1.2, length))
    days = [(place * step, day(last_day - len(up) + 1 + place)) for place in range(0, len(up), 28)]
    label = label or f"Ratings on {len(up)} days: {sum(up)} as a server (above), {sum(down)} as a client (below)"
    return drawn("timeline", width, height, middle, bars, days, label)


_DAYS: Final = 90
_DAY_WIDTH: Final = 4  # units, including a gap of one
_DAY_HEIGHT: Final = 30
_MOST_LISTED: Final = 10  # days that a chart's text lists


def alive_days(days: Sequence[MeasuredDay], last_day: int) -> Markup:
    """Return a strip of 90 days: blue if an endpoint responded, red if it did not, grey if it was not measured."""
    by_day = {measured.day: measured for measured in days if measured.measured}
    bars = []
    for place in range(_DAYS):
        measured = by_day.get(last_day - _DAYS + 1 + place)
        bars.append(("track" if measured is None else "x", place * _DAY_WIDTH, 0.0, float(_DAY_HEIGHT)))
        if measured is not None and measured.reachable:
            height = _DAY_HEIGHT * measured.reachable / measured.measured
            bars.append(("s", place * _DAY_WIDTH, _DAY_HEIGHT - height, height))
    bad = [day(number) for number, measured in sorted(by_day.items()) if measured.reachable < measured.measured]
    failures = ", ".join(bad[-_MOST_LISTED:]) + (
        f" and {len(bad) - _MOST_LISTED} earlier days" * (len(bad) > _MOST_LISTED)
    )
    label = f"{_DAYS} days up to {day(last_day)}: measured on {len(by_day)}. Failures: {failures or 'none'}"
    return drawn("days", _DAYS * _DAY_WIDTH, _DAY_HEIGHT, _DAY_WIDTH - 1, bars, label)


_CELLS: Final = 6
_FILLED_BELOW: Final = 150  # out of 256: three cells in five
_ACCENT_EVERY: Final = 5  # one in five filled cells


def cells(seed: str) -> tuple[str, list[tuple[int, int, str]]]:
    """Return an id's identicon: its background, and the column, row and colour of each filled cell in a 6-by-6 grid.

    The left half mirrors the right half, like the two sides of an agent.
    """
    digest = sha256(seed.encode(errors="replace")).digest()
    hue = digest[0] / 255 * 360
    plain, accent = f"hsl({hue:.0f}, 58%, 44%)", f"hsl({(hue + 42) % 360:.0f}, 68%, 58%)"
    cells = []
    for row in range(_CELLS):
        for column in range(_CELLS // 2):
            byte = digest[1 + row * _CELLS // 2 + column]
            if byte < _FILLED_BELOW:
                colour = plain if byte % _ACCENT_EVERY else accent
                cells += [(place, row, colour) for place in (column, _CELLS - 1 - column)]
    return f"hsl({hue:.0f}, 52%, 92%)", cells


def identicon(seed: str, size: int = 32) -> Markup:
    """Return an id's identicon as SVG."""
    return drawn("identicon", size, *cells(seed))

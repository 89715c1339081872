"""Charts as SVG, made on the server: they need no script, and take their colours from the style sheet.

Blue is the agent as a server, orange as a client.
"""

from collections.abc import Sequence
from hashlib import sha256
from math import sqrt
from typing import Final

from markupsafe import Markup, escape

from bilateral.explorer.agent_figures import Neighbour, Point
from bilateral.explorer.text import day, figure, plain, rounded, timestamp

_WIDTH: Final = 470  # half of a page, in pixels
_ROW: Final = 23  # pixels: a line of text and the space below
_GAP: Final = 27  # pixels for the label between both sides
_FAN_WIDTH: Final = 820  # pixels of a page
_FAN_HEIGHT: Final = 500
_STRIP: Final = 320  # units, stretched to the cell of a table
_LOW: Final = 50
"""The value from which a relation is a good one: half of the scale."""


def bar(share: float, kind: str, width: int = 120) -> Markup:
    """Return a bar that is filled in part."""
    filled = max(3.0, width * min(max(share, 0.0), 1.0))
    return Markup(
        '<svg width="{width}" height="6" viewBox="0 0 {width} 6" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="{width}" height="6" rx="3" class="track"/>'
        '<rect width="{filled:.1f}" height="6" rx="3" class="{kind}"/></svg>'
    ).format(width=width, filled=filled, kind=kind)


def butterfly(as_server: Sequence[int], as_client: Sequence[int]) -> Markup:
    """Return a two-sided histogram: counterparts by their mean, servers on the left, clients on the right."""
    rows, middle = len(as_server), _WIDTH / 2
    height, longest = rows * _ROW + 6, _WIDTH / 2 - _GAP - 34
    most_left, most_right = max(1, *as_server), max(1, *as_client)
    parts = []
    for row in range(rows):
        tenth, y = rows - 1 - row, row * _ROW + 3
        left, right = as_server[tenth], as_client[tenth]
        ends = f"{tenth * 10}\N{EN DASH}{100 if tenth == rows - 1 else tenth * 10 + 9}"
        parts.append(f'<text class="num" x="{middle}" y="{y + 14}" text-anchor="middle">{ends}</text>')
        for count, most, kind, sign in ((left, most_left, "s", -1), (right, most_right, "c", 1)):
            length = max(1.5, count / most * longest)
            near = middle + sign * _GAP
            start = near - length if sign < 0 else near
            anchor = "end" if sign < 0 else "start"
            parts.append(
                f'<rect class="{kind}" x="{start:.1f}" y="{y + 3}" width="{length:.1f}" height="{_ROW - 7}" rx="3"/>'
                f'<text class="num" x="{near + sign * (length + 6):.1f}" y="{y + 14}" text-anchor="{anchor}">'
                f"{count}</text>"
            )
    label = (
        f"Raters by their mean: {sum(as_server)} of the agent as a server on the left, "
        f"{sum(as_client)} of it as a client on the right"
    )
    return Markup(  # noqa: S704  # numbers only
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="100%" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    )


def neighbourhood(agent: str, clients: Sequence[Neighbour], servers: Sequence[Neighbour]) -> Markup:
    """Return an agent's counterparts as a fan to both sides. A dashed, red line is a mean below half of the scale."""
    centre_x, centre_y = _FAN_WIDTH / 2, _FAN_HEIGHT / 2 + 14
    parts = [f'<line x1="{centre_x}" x2="{centre_x}" y1="8" y2="{_FAN_HEIGHT - 2}" class="gridline"/>']
    for people, sign, hue in ((clients, -1, "blue"), (servers, 1, "orange")):
        parts += _fan(people, sign, hue)
    picture = identicon(agent, 62)
    parts += [
        f'<circle cx="{centre_x}" cy="{centre_y}" r="38" class="halo"/>',
        f'<svg x="{centre_x - 31}" y="{centre_y - 31}" width="62" height="62" viewBox="0 0 62 62">{picture}</svg>',
        f'<text x="0" y="14" class="cap s">Rated it as a server: {len(clients)}</text>',
        f'<text x="{_FAN_WIDTH}" y="14" text-anchor="end" class="cap c">Rated it as a client: {len(servers)}</text>',
    ]
    label = f"Trust neighbourhood: {len(clients) + len(servers)} counterparts. The table of ratings names them."
    return Markup(  # noqa: S704  # names are escaped below
        f'<svg viewBox="0 0 {_FAN_WIDTH} {_FAN_HEIGHT}" role="group" aria-label="{label}">{"".join(parts)}</svg>'
    )


def _fan(people: Sequence[Neighbour], sign: int, hue: str) -> list[str]:
    parts = []
    centre_x, centre_y = _FAN_WIDTH / 2, _FAN_HEIGHT / 2 + 14
    x = centre_x + sign * 218
    most = max((person.count for person in people), default=1)
    step = (_FAN_HEIGHT - 108) / max(len(people) - 1, 1)
    slots = sorted(range(len(people)), key=lambda slot: abs(slot - (len(people) - 1) / 2))  # the largest in the middle
    for place, person in zip(slots, people, strict=True):
        y = 62 + place * step if len(people) > 1 else centre_y
        size = sqrt(person.count / most)
        radius, line = 5 + 8.5 * size, 1.2 + 7 * size
        kind = "bad" if person.mean is not None and person.mean < _LOW else hue
        begin = f"M{centre_x + sign * 34:.1f} {centre_y:.1f}"
        curve = f"C{centre_x + sign * 118:.1f} {centre_y:.1f} {centre_x + sign * 112:.1f} {y:.1f}"
        parts.append(
            f'<path class="e {kind}" d="{begin} {curve} {x - sign * radius:.1f} {y:.1f}" '
            f'stroke-width="{line:.2f}" opacity=".5" fill="none"/>'
        )
        anchor, text_x = ("start" if sign > 0 else "end"), x + sign * (radius + 10)
        name = plain(person.name, 24)
        parts.append(
            f'<a href="{escape(person.url)}"><circle class="node {kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
            f'<text class="lbl" x="{text_x:.1f}" y="{y - 1:.1f}" text-anchor="{anchor}">{escape(name)}</text>'
            f'<text class="sub" x="{text_x:.1f}" y="{y + 13:.1f}" text-anchor="{anchor}">'
            f'<tspan class="v {kind}">{figure(person.mean)}</tspan> from {person.count}</text></a>'
        )
    return parts


def strip(places: Sequence[float], mean: float, hue: str = "s") -> Markup:
    """Return values as ticks on their scale, with a mark at the mean."""
    ticks = "".join(f"M{4 + place * _STRIP:.1f} 2v16" for place in places)
    x = 4 + min(1.0, max(0.0, mean)) * _STRIP
    return Markup(  # noqa: S704  # numbers only
        f'<svg viewBox="0 0 {_STRIP + 8} 28" width="100%" height="28" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="tick {hue}" d="{ticks}"/><line class="axis" x1="4" x2="{_STRIP + 4}" y1="19.5" y2="19.5"/>'
        f'<path class="{hue}" d="M{x:.1f} 21l4 6h-8z"/></svg>'
    )


def time_marks(times: Sequence[int]) -> Markup:
    """Return a strip of time: a tick for each event between the first and the last one."""
    first, last = times[0], times[-1]
    width = (last - first) or 1
    ticks = "".join(f"M{4 + (time - first) / width * _STRIP:.1f} 2v16" for time in times)
    label = f"{len(times)} events from {timestamp(first)} to {timestamp(last)}"
    return Markup(  # noqa: S704  # numbers and times only
        f'<svg viewBox="0 0 {_STRIP + 8} 22" width="100%" height="22" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}"><path class="tick x" d="{ticks}"/>'
        f'<line class="axis" x1="4" x2="{_STRIP + 4}" y1="19.5" y2="19.5"/></svg>'
    )


def interval(least: float, rating: float, greatest: float, kind: str) -> Markup:
    """Return a bar from 0 to 100: pale between the values that a rating has at least and at most, with a mark at it."""
    first, mark, last = (_STRIP * min(max(value, 0.0), 100.0) / 100 for value in (least, rating, greatest))
    return Markup(
        '<svg class="least" viewBox="0 0 {width} 12" width="100%" height="12" preserveAspectRatio="none" '
        'aria-hidden="true"><rect width="{width}" y="2" height="8" rx="4" class="track"/>'
        '<rect x="{first:.1f}" y="2" width="{length:.1f}" height="8" rx="4" class="{kind}m"/>'
        '<rect x="{mark:.1f}" width="4" height="12" rx="2" class="{kind}"/></svg>'
    ).format(width=_STRIP, first=first, length=max(last - first, 3.0), mark=max(mark - 2, 0.0), kind=kind)


def axis(rows: Sequence[tuple[str, str, float, float, float]], kind: str) -> Markup:
    """Return ratings of several agents on one axis from 0 to 100: a line between the bounds, a dot at the rating."""
    left, step, width = 14, 44, 400
    scale = (width - 2 * left) / 100
    height = len(rows) * step + 22
    parts = [
        f'<line class="gridline" x1="{left + place * scale:.0f}" x2="{left + place * scale:.0f}" y1="0" '
        f'y2="{height - 18}"/><text x="{left + place * scale:.0f}" y="{height - 4}" text-anchor="middle">{place}</text>'
        for place in (0, 25, 50, 75, 100)
    ]
    for number, (name, words, least, rating, greatest) in enumerate(rows):
        y = number * step + 30
        first, dot, last = (left + min(max(value, 0.0), 100.0) * scale for value in (least, rating, greatest))
        parts.append(
            f'<text class="lbl" x="{left}" y="{y - 14}">{escape(plain(name, 30))}: {escape(words)}</text>'
            f'<line class="range {kind}" x1="{first:.1f}" x2="{last:.1f}" y1="{y}" y2="{y}"/>'
            f'<circle class="{kind}" cx="{dot:.1f}" cy="{y}" r="6"/>'
        )
    label = "; ".join(f"{plain(name, 30)}: {words}" for name, words, *_ in rows)
    return Markup(  # noqa: S704  # names are escaped
        f'<svg class="axis-chart" viewBox="0 0 {width} {height}" width="100%" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def over_time(
    points: Sequence[Point], scale: tuple[int, int], after: tuple[float, float, float] | None = None
) -> Markup:
    """Return a rating over time: a line, a band of its uncertainty, and behind them the rating after the analysis."""
    width, height, right = 400, 150, 40 if after else 8
    first, last = points[0].time, points[-1].time
    least, greatest = scale

    def x(time: int) -> float:
        return 8 + (time - first) / ((last - first) or 1) * (width - 16 - right)

    def y(value: float, low: float = least, high: float = greatest) -> float:
        return 8 + (1 - (value - low) / (high - low)) * (height - 30)

    upper = [f"{x(point.time):.1f} {y(point.upper):.1f}" for point in points]
    lower = [f"{x(point.time):.1f} {y(point.lower):.1f}" for point in reversed(points)]
    line = "L".join(f"{x(point.time):.1f} {y(point.mean):.1f}" for point in points)
    label = (
        f"Rating over time: {figure(points[0].mean)} on {day(first // 86_400)}, {figure(points[-1].mean)} on "
        f"{day(last // 86_400)}, between {figure(points[-1].lower)} and {figure(points[-1].upper)}"
    )
    parts = [
        f'<line class="gridline" x1="8" x2="{width - 8}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
        for value in (least, (least + greatest) / 2, greatest)
    ]
    parts += [
        f'<path class="blue wash" d="M{"L".join(upper + lower)}z"/><path class="blue line" d="M{line}"/>',
        f'<circle class="s" cx="{x(last):.1f}" cy="{y(points[-1].mean):.1f}" r="3.5"/>',
        f'<text x="8" y="{height - 4}">{day(first // 86_400)}</text>',
        f'<text x="{x(last):.1f}" y="{height - 4}" text-anchor="end">{day(last // 86_400)}</text>',
    ]
    if after is not None:
        bottom, middle, top = (y(value, 0, 100) for value in after)
        label += "; {} after the analysis, between {} and {}".format(*map(rounded, (after[1], after[0], after[2])))
        parts.append(
            f'<line class="range s" x1="{width - 20}" x2="{width - 20}" y1="{bottom:.1f}" y2="{top:.1f}"/>'
            f'<circle class="s" cx="{width - 20}" cy="{middle:.1f}" r="5"/>'
            f'<text x="{width - 8}" y="{height - 4}" text-anchor="end">after</text>'
        )
    return Markup(  # noqa: S704  # numbers only
        f'<svg viewBox="0 0 {width} {height}" width="100%" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    )


def money(received: Sequence[int], paid: Sequence[int], last_day: int) -> Markup:
    """Return a chart of days: dollars that an account received above the line, dollars that it paid below."""
    label = (
        f"Payments over {len(received)} days: ${sum(received) / 100:,.2f} received above, ${sum(paid) / 100:,.2f} paid "
        "below"
    )
    return timeline(received, paid, last_day, label)


def timeline(up: Sequence[int], down: Sequence[int], last_day: int, label: str | None = None) -> Markup:
    """Return a chart of days: ratings as a server above the line, as a client below."""
    width, height = 400, 150
    middle, step, most = height * 0.56, width / len(up), max(1, *up, *down)
    parts = []
    for place, (above, below) in enumerate(zip(up, down, strict=True)):
        x = place * step + 0.6
        for count, kind in ((above, "s"), (below, "c")):
            if count:
                length = max(2.0, count / most * (middle - 14 if kind == "s" else height - middle - 22))
                y = middle - 1 - length if kind == "s" else middle + 1
                parts.append(
                    f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{step - 1.2:.1f}" height="{length:.1f}" '
                    f'rx="1"/>'
                )
    for place in range(0, len(up), 28):
        x = place * step
        parts.append(
            f'<line class="gridline" x1="{x:.0f}" x2="{x:.0f}" y1="8" y2="{height - 14}"/>'
            f'<text x="{x:.0f}" y="{height - 2}">{day(last_day - len(up) + 1 + place)}</text>'
        )
    label = label or f"Ratings a day over {len(up)} days: {sum(up)} as a server above, {sum(down)} as a client below"
    return Markup(  # noqa: S704  # numbers only
        f'<svg viewBox="0 0 {width} {height}" width="100%" role="img" aria-label="{label}">'
        f'<line class="axis" x1="0" x2="{width}" y1="{middle}" y2="{middle}"/>{"".join(parts)}</svg>'
    )


_CELLS: Final = 6
_FILLED_BELOW: Final = 150  # of 256: three cells in five
_ACCENT_EVERY: Final = 5  # a fifth of these


def cells(seed: str) -> tuple[str, list[tuple[int, int, str]]]:
    """Return the picture of an id: its background, and column, row and colour of each filled cell of six by six.

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
    """Return the picture of an id as SVG."""
    background, filled = cells(seed)
    paths: dict[str, str] = {}
    for column, row, colour in filled:
        paths[colour] = paths.get(colour, "") + f"M{column} {row}h1v1h-1z"
    parts = [f'<path fill="{colour}" d="{path}"/>' for colour, path in paths.items()]
    return Markup(  # noqa: S704  # numbers only
        f'<svg width="{size}" height="{size}" viewBox="0 0 {_CELLS} {_CELLS}" shape-rendering="crispEdges" '
        f'aria-hidden="true"><path fill="{background}" d="M0 0h6v6H0z"/>{"".join(parts)}</svg>'
    )

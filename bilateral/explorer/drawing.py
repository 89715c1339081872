"""The environment of templates, and charts as SVG by the macros of one of them."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bilateral.explorer.networks import agent_path
from bilateral.explorer.text import figure, plain


@cache
def environment() -> Environment:
    """Return what compiles the templates of this package. Every text in them is escaped."""
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
    """Return what a macro of the template of charts makes of computed figures."""
    return Markup(getattr(environment().get_template("charts.svg.j2").module, macro)(*values, **options).strip())  # noqa: S704

"""Options of trust analyses, of tables and of an index."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bilateral.trust.features.reviews import Reviews


@dataclass(frozen=True, kw_only=True)
class ReviewOptions:
    """The cases and the accounts that people judged before."""

    reviews: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A JSON list of cases: account, verdict, reason.")
    ] = None
    trusted: Annotated[
        list[str] | None, typer.Option("--trust", metavar="ADDRESS", help="An account that you trust; may be repeated.")
    ] = None

    def cases(self) -> Reviews | None:
        """Return the reviewed cases; None without a file."""
        from bilateral.trust.features.reviews import Reviews  # noqa: PLC0415  # pyarrow is heavy, and an extra

        return None if self.reviews is None else Reviews.read(self.reviews)

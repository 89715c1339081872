"""The code in docs/sdk.md runs, and its table of errors is complete."""

from __future__ import annotations

import re
from pathlib import Path

from bilateral import errors

PAGE = (Path(__file__).parents[2] / "docs" / "sdk.md").read_text()


def test_the_tour_runs(kubo, gateway):
    gateway.blocks = kubo.blocks
    namespace = {"kubo_url": kubo.url, "gateway_url": gateway.url}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 9
    for block in blocks:
        exec(compile(block, "docs/sdk.md", "exec"), namespace)  # noqa: S102  # our own page


def test_the_table_of_errors_is_complete():
    documented = set(re.findall(r"^\| `(\w+Error)` \| `(\w+)` \|", PAGE, re.MULTILINE))
    bases = (errors.BilateralError, errors.DocumentError, errors.TransactionError)
    declared = {
        (name, error.reason)
        for name, error in vars(errors).items()
        if isinstance(error, type) and issubclass(error, errors.BilateralError) and error not in bases
    }
    assert documented == declared

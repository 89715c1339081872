"""The page docs/errors.md, made from the exceptions of the package: `python -m tests.sdk.error_page` writes it."""

from __future__ import annotations

import inspect
from pathlib import Path

from bilateral.core import errors
from bilateral.core.errors import BilateralError

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
_PARENTS = (errors.DocumentError, errors.TransactionError)
_BASES = (errors.BilateralError, errors.FormattedError, *_PARENTS)
_GROUPS = {
    "base": "Arguments and signatures",
    "documents": "Documents",
    "nodes": "Nodes and deployments",
    "transactions": "Transactions",
}
_HEAD = """# Errors of the Python package

Look up what an exception means and what to compare in a program. Every exception derives from `BilateralError` and has
a `reason`, which stays the same when a message changes. An error in brackets is a base class: `except DocumentError`
catches everything under Documents.

```python
from bilateral.core.errors import BilateralError

try:
    client.give_feedback("84532:42", 87)
except BilateralError as error:
    print(error.reason, error)
```

If a registry reverts, the error is a `ContractRevertError` of `bilateral.core.contracts.codec`, whose `reason` names
the registry's own error. `make error-page` writes this page, and a test compares it with the code.
"""


def declared():
    """Return the exceptions that the package raises, in the order of their declaration."""
    classes = [error for error in vars(errors).values() if isinstance(error, type)]
    return [error for error in classes if issubclass(error, BilateralError) and error not in _BASES]


def page():
    """Return the page as it must be."""
    lines = [_HEAD]
    for module, title in _GROUPS.items():
        rows = [row(error) for error in declared() if error.__module__.rpartition(".")[2] == module]
        lines += [f"## {title}\n", "| error | `reason` | meaning |", "| --- | --- | --- |", *rows, ""]
    return "\n".join(lines)


def row(error):
    """Return an exception's row: its name with its base class, its reason, the first paragraph of its docstring."""
    meaning = " ".join(inspect.getdoc(error).split("\n\n", maxsplit=1)[0].split())
    bases = [base.__name__ for base in error.__mro__[1:] if base in declared() or base in _PARENTS]
    name = f"`{error.__name__}`" + (f" (`{bases[0]}`)" if bases else "")
    return f"| {name} | `{error.reason}` | {meaning} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

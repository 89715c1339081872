"""Trust analysis: find coordinated and false ratings, explain each finding, and score agents without them.

The package takes tables and returns tables. It requires the extra `trust`.
"""

from importlib.util import find_spec

from bilateral.core.errors import MissingExtraError

_MISSING = [name for name in ("numpy", "scipy", "pyarrow") if find_spec(name) is None]
if _MISSING:
    raise MissingExtraError("trust", _MISSING)

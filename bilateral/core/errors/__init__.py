"""The package's exceptions. Each class has a `reason` that never changes and that programs can compare."""

from bilateral.core.errors.base import *  # noqa: F403  # each name, as this package is their public module
from bilateral.core.errors.documents import *  # noqa: F403
from bilateral.core.errors.nodes import *  # noqa: F403
from bilateral.core.errors.transactions import *  # noqa: F403

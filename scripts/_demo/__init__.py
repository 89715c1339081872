"""The story that `make demo` plays, a chapter a subsystem.

A chapter is a module with a function `play(stage)`, listed in `scripts/demo.py`. It tells what happens by `stage.step`
and `stage.refused`, which check what they tell:

    with stage.step("The server registers its agent by URI.") as step:
        identity.register(URI, sender=server)
        step.check("owner", identity.ownerOf(1), server)
    with stage.refused("Not authorized", "A stranger may not replace the URI."):
        identity.setAgentURI(1, "https://evil.example", sender=stranger)

Accounts come from `stage.account(role)`, contracts from `stage.registry(name)`, the cast's agents from `stage.agents`.
"""

from __future__ import annotations

import sys

from scripts._build import ROOT

sys.path.insert(0, str(ROOT))  # a dependency installs a package `tests`, too, which would hide the project's

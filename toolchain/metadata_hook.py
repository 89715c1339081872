"""Names the addresses of the project in the distributions, if a workflow says which repository it builds.

No address stands in the sources: a build of a fork must not name the repository of somebody else.
"""

from __future__ import annotations

import os
import re
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "BILATERAL_REPOSITORY"
"""The variable with the https URL of the repository. The release workflow sets it. Without it there is no address."""

_URL = re.compile(r"https://[A-Za-z0-9.-]+(/[A-Za-z0-9._-]+)+")


def project_urls(repository: str) -> dict[str, str]:
    """Return the addresses of a project, by the labels that package indexes know.

    Args:
        repository: The https URL of its repository; may be empty.

    Raises:
        ValueError: It is not such a URL.
    """
    if not repository:
        return {}
    if not _URL.fullmatch(repository):
        raise ValueError(f"{REPOSITORY} is {repository!r}: it must be the https URL of a repository")
    return {
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        "Documentation": f"{repository}/tree/main/docs",
        "Issues": f"{repository}/issues",
        "Source": repository,
    }


class CustomMetadataHook(MetadataHookInterface):
    """The hook that every build runs; hatchling looks for exactly this name."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the addresses.

        Args:
            metadata: The metadata of the project, which this extends.
        """
        metadata["urls"] = project_urls(os.environ.get(REPOSITORY, ""))

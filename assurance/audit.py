"""Fail on findings of slither with high or medium impact in the contracts that get deployed.

Slither's own filter of paths drops a finding if any of its elements is in a library or a mock.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OURS = "contracts/"
MOCKS = "contracts/mocks/"


def touches_ours(finding: dict[str, Any]) -> bool:
    """Return True if a finding touches a contract that gets deployed."""
    paths = [element["source_mapping"]["filename_relative"] for element in finding["elements"]]
    return any(path.startswith(OURS) and not path.startswith(MOCKS) for path in paths)


def main(report: Path) -> int:
    """Print the findings.

    Args:
        report: The JSON report of slither.

    Returns:
        The exit code: 1 if there are serious findings.
    """
    analysis = json.loads(report.read_text())
    if not analysis["success"]:
        sys.exit(f"audit: slither failed: {analysis['error']}")
    detectors = analysis["results"].get("detectors", [])
    serious = [
        detector for detector in detectors if detector["impact"] in {"High", "Medium"} and touches_ours(detector)
    ]
    for detector in serious:
        print(f"{detector['impact']}: {detector['check']}: {detector['description'].strip()}")
    print(f"audit: {len(serious)} findings of high or medium impact in the contracts.")
    return 1 if serious else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

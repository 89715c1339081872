"""`python -m tests.recordings [NAME…]`: writes the recordings anew, all of them or those that are named."""

from __future__ import annotations

import sys

from tests.offline import stay_offline
from tests.recordings.recordings import FOLDER, RECORDINGS


def main():
    stay_offline()
    for name in sys.argv[1:] or RECORDINGS:
        (FOLDER / name).write_text(RECORDINGS[name](), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Bitwuzla as a command, which is what halmos asks for: PyPI has the solver as a library alone.

python assurance/smt.py QUERY.smt2
"""

from __future__ import annotations

import sys

from bitwuzla import Option, Options, Parser, TermManager

options = Options()
options.set(Option.PRODUCE_MODELS, True)
if error := Parser(TermManager(), options).parse(sys.argv[1]):
    sys.exit(error)

"""Building blocks for every package: identifiers, values, signatures, contracts, events, errors, text and HTTP."""

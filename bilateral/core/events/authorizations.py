"""Transfers by signature (EIP-3009): the authorization that belongs to each transfer of a token."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

G = TypeVar("G", bound="Hashable")


def paired_nonces(
    transfers: Iterable[tuple[G, int]], used: Mapping[tuple[G, int], bytes]
) -> dict[tuple[G, int], bytes]:
    """Pair transfers with the authorizations that they used. A transaction may hold several payments of one account.

    A token logs the use of an authorization and its transfer one after the other. From the last transfer to the first,
    the pairs are right in both orders. Each authorization is of one transfer at most. A transfer without one that
    stands before a use and its transfer takes neither.

    Give every transfer of each group that `unsure_groups` returns. Otherwise a transfer without an authorization may
    get that of a missing one.
    """
    left, paired = dict(used), {}
    for group, index in sorted(transfers, key=lambda place: place[1], reverse=True):
        for neighbour in ((group, index + 1), (group, index - 1)):
            if neighbour in left:
                paired[group, index] = left.pop(neighbour)
                break
    return paired


def unsure_groups(transfers: Iterable[tuple[G, int]], used: Mapping[tuple[G, int], bytes]) -> set[G]:
    """Return the groups in which a missing transfer could change the pairs of the given ones, see `paired_nonces`.

    A transfer takes the use after it, if there is one. A missing transfer after that use could have a better claim to
    it. Every other pair is the same, whatever is missing.
    """
    existing = set(transfers)
    return {group for group, index in existing if (group, index + 1) in used and (group, index + 2) not in existing}

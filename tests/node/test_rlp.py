"""RLP gives the bytes of the reference library, for numbers, bytes and lists of any length."""

import rlp as reference
from hypothesis import given
from hypothesis import strategies as st

from bilateral.node import rlp

ITEMS = st.recursive(
    st.binary(max_size=300) | st.integers(0, 2**256), lambda items: st.lists(items, max_size=70), max_leaves=70
)


@given(ITEMS)
def test_encoding_is_that_of_the_reference(item):
    assert rlp.encode(item) == reference.encode(item)


def test_lengths_of_several_bytes_are_encoded():
    for length in (0, 1, 55, 56, 255, 256, 65_536):
        assert rlp.encode(bytes(length)) == reference.encode(bytes(length))
        assert rlp.encode([bytes(length)]) == reference.encode([bytes(length)])

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @dev A feedback entry, in one word. `exists` distinguishes it from an empty slot, so reads, revocations and
/// responses can check an index without a second word. `responses` is in the highest bits, so one response too many
/// overflows the word, and the checked addition reverts.
/// ```
///   255        216 | 215    | 214     | 213      208 | 207    168 | 167    128 | 127       0
///   responses      | exists | revoked | decimals     | tag2's id  | tag1's id  | value
/// ```
type FeedbackWord is uint256;

/// @dev Selects the words that equal `wanted` in the bits of `mask`.
struct FeedbackFilter {
    uint256 mask;
    uint256 wanted;
}

using FeedbackWords for FeedbackWord global;
using FeedbackWords for FeedbackFilter global;

/// @title Reads and updates the word of a feedback entry
library FeedbackWords {
    uint256 private constant TAG1_OFFSET = 128;
    uint256 private constant TAG2_OFFSET = 168;
    uint256 private constant DECIMALS_OFFSET = 208;
    uint256 private constant REVOKED = 1 << 214;
    uint256 private constant EXISTS = 1 << 215;
    uint256 private constant RESPONSES_OFFSET = 216;

    uint256 private constant TAG_MASK = type(uint40).max;
    uint256 private constant DECIMALS_MASK = 63;

    /// @dev Returns the entry with one more response. Reverts with an arithmetic panic after 2^40 responses, for which
    /// no chain has enough gas.
    function withResponse(FeedbackWord self) internal pure returns (FeedbackWord word) {
        return FeedbackWord.wrap(FeedbackWord.unwrap(self) + (1 << RESPONSES_OFFSET));
    }

    /// @dev Returns the entry, marked as revoked.
    function asRevoked(FeedbackWord self) internal pure returns (FeedbackWord word) {
        return FeedbackWord.wrap(FeedbackWord.unwrap(self) | REVOKED);
    }

    function exists(FeedbackWord self) internal pure returns (bool) {
        return FeedbackWord.unwrap(self) & EXISTS != 0;
    }

    function isRevoked(FeedbackWord self) internal pure returns (bool) {
        return FeedbackWord.unwrap(self) & REVOKED != 0;
    }

    function value(FeedbackWord self) internal pure returns (int128) {
        return int128(uint128(FeedbackWord.unwrap(self)));
    }

    function decimals(FeedbackWord self) internal pure returns (uint8) {
        return uint8((FeedbackWord.unwrap(self) >> DECIMALS_OFFSET) & DECIMALS_MASK);
    }

    function tag1Id(FeedbackWord self) internal pure returns (uint256) {
        return (FeedbackWord.unwrap(self) >> TAG1_OFFSET) & TAG_MASK;
    }

    function tag2Id(FeedbackWord self) internal pure returns (uint256) {
        return (FeedbackWord.unwrap(self) >> TAG2_OFFSET) & TAG_MASK;
    }

    /// @dev Returns the number of responses.
    function responses(FeedbackWord self) internal pure returns (uint64) {
        return uint64(FeedbackWord.unwrap(self) >> RESPONSES_OFFSET);
    }

    /// @dev Returns true if the filter selects the word.
    function isMetBy(FeedbackFilter memory self, FeedbackWord word) internal pure returns (bool) {
        return FeedbackWord.unwrap(word) & self.mask == self.wanted;
    }

    /// @dev Returns a new entry. The ids of tags must be below 2^40.
    function pack(
        int128 value_,
        uint8 decimals_,
        uint256 tag1Id_,
        uint256 tag2Id_
    ) internal pure returns (FeedbackWord word) {
        return
            FeedbackWord.wrap(
                uint128(value_) |
                    (tag1Id_ << TAG1_OFFSET) |
                    (tag2Id_ << TAG2_OFFSET) |
                    (uint256(decimals_) << DECIMALS_OFFSET) |
                    EXISTS
            );
    }

    /// @dev Returns a filter for feedback with these tags; 0, the id of the empty tag, selects any tag.
    function filter(
        uint256 tag1Id_,
        uint256 tag2Id_,
        bool includeRevoked
    ) internal pure returns (FeedbackFilter memory) {
        uint256 mask = includeRevoked ? 0 : REVOKED;
        if (tag1Id_ != 0) mask |= TAG_MASK << TAG1_OFFSET;
        if (tag2Id_ != 0) mask |= TAG_MASK << TAG2_OFFSET;
        return FeedbackFilter(mask, (tag1Id_ << TAG1_OFFSET) | (tag2Id_ << TAG2_OFFSET));
    }
}

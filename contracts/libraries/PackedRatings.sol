// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IBlindRatings} from "../interfaces/IBlindRatings.sol";

/// @dev The ratings that one server has given. 32 neighbouring agents share a word, so rating a neighbour updates an
/// existing word instead of taking a new one. Agent `32 * page + i` has byte `i`, counted from the right.
/// ```
///   255     248 | … | 15           8 | 7            0
///   agent 31    | … | agent 1        | agent 0            of the page
/// ```
/// Bit 7 of a byte is set if the rating is sealed or blind. Ratings of validators never use it.
/// ```
///   7                 | 6                                  0
///   sealed or blind   | rating + 1; 0 without a rating
/// ```
/// So 0 means no rating, 1 to 101 an open rating, 128 a sealed one, and 129 to 229 a blind one, which was sealed
/// before.
struct PackedRatings {
    mapping(uint256 pageId => RatingsPage page) pages;
}

/// @dev One word of ratings. It is a struct because structs have storage references, which save a hash when the word is
/// read and then written.
struct RatingsPage {
    uint256 word;
}

using PackedRatingsLib for PackedRatings global;

/// @title Reads and writes ratings of one byte each
library PackedRatingsLib {
    /// @dev The byte of a sealed rating: bit 7 alone.
    uint256 private constant SEALED = 128;

    /// @dev The bits of a byte that hold the rating plus 1.
    uint256 private constant RATING_MASK = 127;

    /// @dev Writes an open rating, at most 100, unless the byte is in use. Returns true if it was written.
    function put(PackedRatings storage self, uint256 agentId, uint8 rating) internal returns (bool isNew) {
        unchecked {
            return _replace(self, agentId, 0, uint256(rating) + 1);
        }
    }

    /// @dev Reserves the byte for a sealed rating, unless the byte is in use. Returns true if it was written.
    function reserve(PackedRatings storage self, uint256 agentId) internal returns (bool isNew) {
        return _replace(self, agentId, 0, SEALED);
    }

    /// @dev Writes a blind rating, at most 100, if the byte is sealed or unused, as `wasSealed` requires. Returns true
    /// if it was written.
    function putBlind(
        PackedRatings storage self,
        uint256 agentId,
        uint8 rating,
        bool wasSealed
    ) internal returns (bool isNew) {
        unchecked {
            return _replace(self, agentId, wasSealed ? SEALED : 0, SEALED + rating + 1);
        }
    }

    /// @dev Returns true and the rating, or false and 0 if the agent has no rating, or only a sealed one.
    function get(PackedRatings storage self, uint256 agentId) internal view returns (bool hasRating, uint8 rating) {
        uint256 packed = (self.pages[agentId >> 5].word >> _offset(agentId)) & RATING_MASK;
        if (packed == 0) return (false, 0);
        unchecked {
            return (true, uint8(packed - 1));
        }
    }

    /// @dev Returns the state of an agent's rating.
    function stateOf(
        PackedRatings storage self,
        uint256 agentId
    ) internal view returns (IBlindRatings.RatingState state) {
        uint256 packed = uint8(self.pages[agentId >> 5].word >> _offset(agentId));
        if (packed == 0) return IBlindRatings.RatingState.None;
        if (packed < SEALED) return IBlindRatings.RatingState.Open;
        return packed == SEALED ? IBlindRatings.RatingState.Sealed : IBlindRatings.RatingState.Blind;
    }

    /// @dev Returns true if an agent's byte is not in use, given the word of its page.
    function isFree(uint256 word, uint256 agentId) internal pure returns (bool) {
        return uint8(word >> _offset(agentId)) == 0;
    }

    /// @dev Returns the word of a page after writing an open rating, at most 100, to an agent's unused byte.
    function withRating(uint256 word, uint256 agentId, uint256 rating) internal pure returns (uint256 next) {
        unchecked {
            return word | ((rating + 1) << _offset(agentId));
        }
    }

    /// @dev Replaces the byte of an agent if it has the expected previous value. Returns true if it was written.
    function _replace(
        PackedRatings storage self,
        uint256 agentId,
        uint256 former,
        uint256 next
    ) private returns (bool isNew) {
        RatingsPage storage page = self.pages[agentId >> 5];
        uint256 word = page.word;
        uint256 offset = _offset(agentId);
        isNew = uint8(word >> offset) == former;
        if (isNew) page.word = word ^ ((former ^ next) << offset);
    }

    /// @dev Returns the position of an agent's byte in its word, counted in bits from the right.
    function _offset(uint256 agentId) private pure returns (uint256 offset) {
        return (agentId & 31) << 3;
    }
}

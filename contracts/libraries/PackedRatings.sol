// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @dev The ratings that one server gave: 32 neighbouring agents share a word, so that a neighbour's costs an update
/// rather than a new word. Agent `32 * page + i` has byte `i` from the right.
/// ```
///   255     248 | … | 15           8 | 7            0
///   agent 31    | … | agent 1        | agent 0            of the page
/// ```
/// A byte is 0 for none, or the rating and 1.
struct PackedRatings {
    mapping(uint256 page => uint256 word) pages;
}

using PackedRatingsLib for PackedRatings global;

/// @title Ratings of one byte each
library PackedRatingsLib {
    /// @dev Writes a rating, below 255, unless there is one.
    function put(PackedRatings storage self, uint256 agentId, uint8 rating) internal returns (bool isNew) {
        uint256 word = self.pages[agentId >> 5];
        uint256 offset = _offset(agentId);
        isNew = uint8(word >> offset) == 0;
        if (isNew) self.pages[agentId >> 5] = word | ((uint256(rating) + 1) << offset);
    }

    function get(PackedRatings storage self, uint256 agentId) internal view returns (bool hasRating, uint8 rating) {
        uint8 packed = uint8(self.pages[agentId >> 5] >> _offset(agentId));
        if (packed == 0) return (false, 0);
        return (true, packed - 1);
    }

    /// @dev Where an agent's byte starts in its word, in bits.
    function _offset(uint256 agentId) private pure returns (uint256 offset) {
        return (agentId & 31) << 3;
    }
}

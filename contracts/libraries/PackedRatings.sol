// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @dev The ratings that one server gave. 32 neighbouring agents share a word, so the rating of a neighbour updates a
/// word and needs no new one. Agent `32 * page + i` has byte `i` from the right.
/// ```
///   255     248 | … | 15           8 | 7            0
///   agent 31    | … | agent 1        | agent 0            of the page
/// ```
/// A byte is 0 if the agent has no rating, else the rating plus 1.
struct PackedRatings {
    mapping(uint256 pageId => RatingsPage page) pages;
}

/// @dev One word of ratings. As a struct it has a storage reference, which saves a hash when it is read and written.
struct RatingsPage {
    uint256 word;
}

using PackedRatingsLib for PackedRatings global;

/// @title Reads and writes ratings of one byte each
library PackedRatingsLib {
    /// @dev Writes a rating, below 255, unless the agent has one. Returns true if it wrote.
    function put(PackedRatings storage self, uint256 agentId, uint8 rating) internal returns (bool isNew) {
        RatingsPage storage page = self.pages[agentId >> 5];
        uint256 word = page.word;
        uint256 offset = _offset(agentId);
        isNew = uint8(word >> offset) == 0;
        unchecked {
            if (isNew) page.word = word | ((uint256(rating) + 1) << offset);
        }
    }

    /// @dev Returns true and the rating, or false and 0 if the agent has no rating.
    function get(PackedRatings storage self, uint256 agentId) internal view returns (bool hasRating, uint8 rating) {
        uint8 packed = uint8(self.pages[agentId >> 5].word >> _offset(agentId));
        if (packed == 0) return (false, 0);
        return (true, packed - 1);
    }

    /// @dev Returns the position of an agent's byte in its word, in bits from the right.
    function _offset(uint256 agentId) private pure returns (uint256 offset) {
        return (agentId & 31) << 3;
    }
}

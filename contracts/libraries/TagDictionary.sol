// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {LibString} from "solady/src/utils/LibString.sol";

/// @dev All tags that have been used, each stored once under an id. A feedback entry contains two 40-bit ids instead of
/// strings. Ids start at 1 and follow the order of first use; 0 is the empty tag, which is not stored. Anyone can add
/// tags, but each takes two new words, so exhausting the ids would take about 5e16 gas, which is out of reach on any
/// chain.
struct TagDictionary {
    mapping(string tag => uint256 id) ids;
    mapping(uint256 id => LibString.StringStorage tag) tags;
    uint256 count;
}

using TagDictionaries for TagDictionary global;

/// @title Looks up tags by id, and ids by tag
library TagDictionaries {
    using LibString for LibString.StringStorage;

    /// @dev The highest id.
    uint256 internal constant MAX_ID = type(uint40).max;

    /// @notice All ids are in use.
    /// @param limit The number of ids.
    error TagsExhausted(uint256 limit);

    /// @dev Returns the id of a tag. A new tag gets the next id.
    function enter(TagDictionary storage self, string calldata tag) internal returns (uint256 id) {
        if (bytes(tag).length == 0) return 0;
        id = self.ids[tag];
        if (id != 0) return id;

        id = self.count + 1;
        require(id <= MAX_ID, TagsExhausted(MAX_ID));
        self.count = id;
        self.ids[tag] = id;
        self.tags[id].setCalldata(tag);
    }

    /// @dev Returns the id of a tag and true, or 0 and false for a tag that nobody has used.
    function find(TagDictionary storage self, string calldata tag) internal view returns (uint256 id, bool known) {
        if (bytes(tag).length == 0) return (0, true);
        id = self.ids[tag];
        known = id != 0;
    }

    /// @dev Returns the tag with this id.
    function tagOf(TagDictionary storage self, uint256 id) internal view returns (string memory tag) {
        return id == 0 ? "" : self.tags[id].get();
    }
}

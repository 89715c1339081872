// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {LibString} from "solady/src/utils/LibString.sol";

/// @dev The tags that were ever used, each stored once under an id, so that a feedback holds two ids of 40 bits rather
/// than two strings. Ids are given from 1 in the order of first use; 0 is the empty tag, which is not stored.
/// Anybody may enter tags, and each takes two new words: using all ids up takes some 5e16 gas, which is out of reach on
/// the cheapest chain.
struct TagDictionary {
    mapping(string tag => uint256 id) ids;
    mapping(uint256 id => LibString.StringStorage tag) tags;
    uint256 count;
}

using TagDictionaries for TagDictionary global;

/// @title Tags by id, and ids by tag
library TagDictionaries {
    using LibString for LibString.StringStorage;

    /// @dev The highest id.
    uint256 internal constant MAX_ID = type(uint40).max;

    /// @notice Every id has been given to a tag.
    /// @param limit The number of ids.
    error TagsExhausted(uint256 limit);

    /// @dev The id of a tag, which gets one if it is new.
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

    /// @dev The id of a tag, and whether anything can bear it: a new tag has none.
    function find(TagDictionary storage self, string calldata tag) internal view returns (uint256 id, bool known) {
        if (bytes(tag).length == 0) return (0, true);
        id = self.ids[tag];
        known = id != 0;
    }

    /// @dev The tag with this id.
    function tagOf(TagDictionary storage self, uint256 id) internal view returns (string memory tag) {
        return id == 0 ? "" : self.tags[id].get();
    }
}

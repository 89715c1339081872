// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {FeedbackFilter, FeedbackWord, FeedbackWords} from "../../contracts/libraries/FeedbackWord.sol";
import {Cheats} from "./Cheats.sol";

/// @title A feedback's word keeps what is put into it, each part apart from the others
contract FeedbackWordProof is Cheats {
    function check_packingLosesNothing(int128 value, uint8 decimals, uint40 tag1Id, uint40 tag2Id) external pure {
        FeedbackWord word = _pack(value, decimals, tag1Id, tag2Id);
        _assertParts(word, value, decimals, tag1Id, tag2Id);
        assert(word.exists() && !word.isRevoked() && word.responses() == 0);
    }

    function check_responseAndRevocationChangeNothingElse(
        int128 value,
        uint8 decimals,
        uint40 tag1Id,
        uint40 tag2Id
    ) external pure {
        FeedbackWord answered = _pack(value, decimals, tag1Id, tag2Id).withResponse();
        _assertParts(answered, value, decimals, tag1Id, tag2Id);
        assert(answered.exists() && !answered.isRevoked() && answered.responses() == 1);

        FeedbackWord revoked = answered.asRevoked().withResponse();
        _assertParts(revoked, value, decimals, tag1Id, tag2Id);
        assert(revoked.exists() && revoked.isRevoked() && revoked.responses() == 2);
    }

    function check_responsesOfAnyWordAreCountedWithoutTouchingTheRest(uint256 anything) external pure {
        FeedbackWord word = FeedbackWord.wrap(anything);
        FeedbackWord answered = word.withResponse();
        assert(answered.responses() == word.responses() + 1);
        assert(uint216(FeedbackWord.unwrap(answered)) == uint216(anything));
    }

    function check_filterMeansWhatItSays(
        uint256 anything,
        uint40 tag1Id,
        uint40 tag2Id,
        bool includeRevoked
    ) external pure {
        FeedbackWord word = FeedbackWord.wrap(anything);
        FeedbackFilter memory filter = FeedbackWords.filter(tag1Id, tag2Id, includeRevoked);
        bool isMeant =
            (includeRevoked || !word.isRevoked()) &&
                (tag1Id == 0 || word.tag1Id() == tag1Id) &&
                (tag2Id == 0 || word.tag2Id() == tag2Id);
        assert(filter.isMetBy(word) == isMeant);
    }

    function _pack(
        int128 value,
        uint8 decimals,
        uint40 tag1Id,
        uint40 tag2Id
    ) private pure returns (FeedbackWord word) {
        VM.assume(decimals <= 18);
        return FeedbackWords.pack(value, decimals, tag1Id, tag2Id);
    }

    function _assertParts(FeedbackWord word, int128 value, uint8 decimals, uint40 tag1Id, uint40 tag2Id) private pure {
        assert(word.value() == value);
        assert(word.decimals() == decimals);
        assert(word.tag1Id() == tag1Id);
        assert(word.tag2Id() == tag2Id);
    }
}

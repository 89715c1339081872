// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {FeedbackFilter, FeedbackWord, FeedbackWords} from "../../contracts/libraries/FeedbackWord.sol";
import {Proof} from "./Proof.sol";

/// @title A feedback's word keeps each field, independent of the others
contract FeedbackWordProof is Proof {
    function check_packingLosesNothing(
        int128 value,
        uint8 decimals,
        uint40 tag1Id,
        uint40 tag2Id
    ) external view reachesItsEnd {
        FeedbackWord word = _pack(value, decimals, tag1Id, tag2Id);
        _assertParts(word, value, decimals, tag1Id, tag2Id);
        _prove(word.exists() && !word.isRevoked() && word.responses() == 0);
    }

    function check_responseAndRevocationChangeNothingElse(
        int128 value,
        uint8 decimals,
        uint40 tag1Id,
        uint40 tag2Id
    ) external view reachesItsEnd {
        FeedbackWord answered = _pack(value, decimals, tag1Id, tag2Id).withResponse();
        _assertParts(answered, value, decimals, tag1Id, tag2Id);
        _prove(answered.exists() && !answered.isRevoked() && answered.responses() == 1);

        FeedbackWord revoked = answered.asRevoked().withResponse();
        _assertParts(revoked, value, decimals, tag1Id, tag2Id);
        _prove(revoked.exists() && revoked.isRevoked() && revoked.responses() == 2);
    }

    function check_responsesOfAnyWordAreCountedWithoutTouchingTheRest(uint256 anything) external view reachesItsEnd {
        FeedbackWord word = FeedbackWord.wrap(anything);
        FeedbackWord answered = word.withResponse();
        _prove(answered.responses() == word.responses() + 1);
        _prove(uint216(FeedbackWord.unwrap(answered)) == uint216(anything));
    }

    function check_revocationOfAnyWordChangesOneBit(uint256 anything) external view reachesItsEnd {
        FeedbackWord revoked = FeedbackWord.wrap(anything).asRevoked();
        _prove(revoked.isRevoked());
        _prove(FeedbackWord.unwrap(revoked) & ~uint256(1 << 214) == anything & ~uint256(1 << 214));
    }

    /// @dev Different words differ in a field: every bit belongs to one field.
    function check_partsTellWordsApart(uint256 one, uint256 other) external view reachesItsEnd {
        (FeedbackWord a, FeedbackWord b) = (FeedbackWord.wrap(one), FeedbackWord.wrap(other));
        VM.assume(a.value() == b.value() && a.tag1Id() == b.tag1Id() && a.tag2Id() == b.tag2Id());
        VM.assume(a.decimals() == b.decimals() && a.responses() == b.responses());
        VM.assume(a.isRevoked() == b.isRevoked() && a.exists() == b.exists());
        _prove(one == other);
    }

    function check_filterMeansWhatItSays(
        uint256 anything,
        uint40 tag1Id,
        uint40 tag2Id,
        bool includeRevoked
    ) external view reachesItsEnd {
        FeedbackWord word = FeedbackWord.wrap(anything);
        FeedbackFilter memory filter = FeedbackWords.filter(tag1Id, tag2Id, includeRevoked);
        bool isMeant =
            (includeRevoked || !word.isRevoked()) &&
                (tag1Id == 0 || word.tag1Id() == tag1Id) &&
                (tag2Id == 0 || word.tag2Id() == tag2Id);
        _prove(filter.isMetBy(word) == isMeant);
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
        _prove(word.value() == value);
        _prove(word.decimals() == decimals);
        _prove(word.tag1Id() == tag1Id);
        _prove(word.tag2Id() == tag2Id);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IBlindRatings} from "../../contracts/interfaces/IBlindRatings.sol";
import {PackedRatings} from "../../contracts/libraries/PackedRatings.sol";
import {Proof} from "./Proof.sol";

/// @title Ratings of one server
contract Ratings {
    PackedRatings private _given;

    /// @notice Stores a rating.
    /// @param agentId The rated agent.
    /// @param rating The rating.
    /// @return isNew True if the agent had no rating.
    function put(uint256 agentId, uint8 rating) external returns (bool isNew) {
        return _given.put(agentId, rating);
    }

    /// @notice Returns a rating.
    /// @param agentId The rated agent.
    /// @return hasRating True if the agent has a rating.
    /// @return rating The rating.
    function get(uint256 agentId) external view returns (bool hasRating, uint8 rating) {
        return _given.get(agentId);
    }

    /// @notice Returns the state of a rating.
    /// @param agentId The rated agent.
    /// @return state None, open, sealed or blind.
    function stateOf(uint256 agentId) external view returns (IBlindRatings.RatingState state) {
        return _given.stateOf(agentId);
    }
}

/// @title A rating stays unchanged for ever, for any other ratings
/// @notice The proofs start from any storage, and so cover any history.
contract PackedRatingsProof is Proof {
    Ratings private _ratings;

    function setUp() external {
        _ratings = new Ratings();
        SVM.enableSymbolicStorage(address(_ratings));
    }

    function check_firstRatingIsKept(uint256 agentId, uint8 rating) external reachesItsEnd {
        VM.assume(rating <= 100);
        // A sealed place takes no open rating, although `get` reads it as none.
        VM.assume(_ratings.stateOf(agentId) == IBlindRatings.RatingState.None);
        _prove(_ratings.put(agentId, rating));
        (bool hasRating, uint8 kept) = _ratings.get(agentId);
        _prove(hasRating && kept == rating);
    }

    function check_ratingCannotChange(uint256 agentId, uint256 otherId, uint8 otherRating) external reachesItsEnd {
        VM.assume(otherRating <= 100);
        (bool hadRating, uint8 before) = _ratings.get(agentId);
        VM.assume(hadRating);
        bool isNew = _ratings.put(otherId, otherRating);
        _prove(!isNew || otherId != agentId);
        (bool hasRating, uint8 kept) = _ratings.get(agentId);
        _prove(hasRating && kept == before);
    }

    function check_ratingOfOneGivesNoRatingToAnother(
        uint256 agentId,
        uint256 otherId,
        uint8 otherRating
    ) external reachesItsEnd {
        VM.assume(otherRating <= 100 && otherId != agentId);
        (bool hadRating, ) = _ratings.get(agentId);
        VM.assume(!hadRating);
        _ratings.put(otherId, otherRating);
        (bool hasRating, ) = _ratings.get(agentId);
        _prove(!hasRating);
    }
}

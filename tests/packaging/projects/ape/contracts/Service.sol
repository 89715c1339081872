// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IBidirectionalRatings} from "bilateral/contracts/interfaces/IBidirectionalRatings.sol";
import {ReputationGated} from "bilateral/contracts/reputation/ReputationGated.sol";

contract Service is ReputationGated {
    uint256 public served;

    constructor(IBidirectionalRatings ratings) ReputationGated(ratings) {}

    function serve(uint256 clientId) external onlyReputableClient(clientId, 1, 70, true) {
        ++served;
    }
}

/** Everything in the package except the Solidity sources, which are in `bilateral/contracts/…`. */
export * from "./abi.js";
export * from "./addresses.js";
export * from "./service.js";

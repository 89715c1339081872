/** Everything of the package but the Solidity sources, which `bilateral/contracts/…` has. */
export * from "./abi.js";
export * from "./addresses.js";
export * from "./service.js";

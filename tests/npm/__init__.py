"""The Python side of the tests of the npm package: sellers that TypeScript buys from."""

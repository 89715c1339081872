/** A local chain with a seller in Python, once for all tests of this folder. */
export default function setup(): void {}

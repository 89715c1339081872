/** The blocks of the past. Loaded with the first verification as of a payment on a different chain. */
import { blockOf, latestBlock, quantityText, type Node } from "./node.js";

/** Return the last block that is not later than a time, by binary search. */
export async function blockAt(node: Node, second: number): Promise<bigint> {
  let low = 0n;
  let high = await latestBlock(node);
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if ((await blockOf(node, quantityText(middle))).time <= second) low = middle;
    else high = middle - 1n;
  }
  return low;
}

// Buys one answer by the published x402 client for Node, and prints what it sent and received as JSON. It runs in the
// environment of interop/package-lock.json. Arguments: the URL and the buyer's private key.
import { x402Client } from '@x402/core/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { UptoEvmScheme } from '@x402/evm/upto/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';

const [url, key] = process.argv.slice(2);
const buyer = privateKeyToAccount(key);
const client = new x402Client()
  .setSpendControls(false) // the token of the test is none of the SDK's list
  .register('eip155:*', new ExactEvmScheme(buyer))
  .register('eip155:*', new UptoEvmScheme(buyer));

let payment;
const recording = (input, init) => {
  const request = new Request(input, init);
  payment = request.headers.get('payment-signature') ?? payment;
  return fetch(request);
};

const response = await wrapFetchWithPayment(recording, client)(url);
console.log(
  JSON.stringify({
    status: response.status,
    payment,
    settlement: response.headers.get('payment-response'),
    refusal: response.headers.get('payment-required'),
    body: Buffer.from(await response.arrayBuffer()).toString('base64'),
  }),
);

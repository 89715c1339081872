// The published x402 client for pages, as it is. esbuild bundles it with what it imports; the page then has `buy`.
import { x402Client } from '@x402/core/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';

globalThis.buy = async (url, key, init) => {
  const client = new x402Client()
    .setSpendControls(false) // the token of the test is none of the SDK's list
    .register('eip155:*', new ExactEvmScheme(privateKeyToAccount(key)));
  let payment;
  const recording = (input, settings) => {
    const request = new Request(input, settings);
    payment = request.headers.get('payment-signature') ?? payment;
    return fetch(request);
  };
  const response = await wrapFetchWithPayment(recording, client)(url, init);
  const settlement = response.headers.get('payment-response');
  return { status: response.status, payment, settlement, body: await response.text() };
};

"use strict"; // Acts with the visitor's wallet (EIP-6963). The service prepares, the wallet signs and sends.
const $ = (id) => document.getElementById(id), form = $("act"), { action, chain, network, shows, topic, confirmations } = form.dataset;
const hex = "0x" + Number(chain).toString(16), wallets = new Map(), url = new URL(location), POLL = 700;
let provider, account, prepared, timer, run = 0;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const same = (a, b) => String(a).toLowerCase() === String(b).toLowerCase();
const fail = (text) => { $("problem").textContent = text; $("problem").hidden = !text; };
const list = (id, lines) => $(id).replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
const ask = (method, ...params) => provider.request({ method, params });
const wordsOf = (error) => error?.code === 4001 ? "You rejected it in the wallet. Nothing was sent."
  : error?.words ?? `The wallet says: ${String(error?.data?.message ?? error?.message ?? error).slice(0, 300)}`;
const stop = (words) => { throw { words }; };

function fields() {
  const body = { action };
  for (const it of form.elements) if (it.name && it.name !== "provider") {
    const isBox = it.type === "checkbox", changed = isBox ? it.checked !== it.defaultChecked : it.value !== it.defaultValue;
    if ("changes" in form.dataset && !changed && it.name !== "agent") continue;
    if (isBox) body[it.name] = it.checked;
    else if (it.value.trim() || "changes" in form.dataset) body[it.name] = it.value;
  }
  return body;
}

async function post(path, body) {
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })
    .catch(() => stop("The service does not answer. Nothing was sent."));
  const value = await answer.json();
  if (answer.ok) return value;
  const first = value.errors?.[0];
  stop(first ? `${first.in.split(".").pop()}: ${first.problem}` : value.detail);
}

function announce({ detail: { info, provider: it } }) {
  if (wallets.has(info.uuid)) return;
  wallets.set(info.uuid, it);
  const label = document.createElement("label"), radio = Object.assign(document.createElement("input"), { type: "radio", name: "provider", value: info.uuid });
  label.className = "wallet";
  radio.checked = wallets.size === 1;
  label.append(radio, info.name);
  $("wallets").append(label);
  $("wallets").hidden = wallets.size < 2;
  $("go").disabled = false; $("none").hidden = true;
  resume(it);
}

async function resume(it) { // after a reload, with the first wallet on the right chain
  const tx = url.searchParams.get("tx"), id = tx && await it.request({ method: "eth_chainId" }).catch(() => null);
  if (tx && !provider && same(id, hex)) { provider = it; follow(tx).catch((error) => fail(wordsOf(error))); }
}

function show() {
  list("says", [...prepared.summary, `You sign as ${prepared.signature?.account ?? account}.`, prepared.cost?.sentence ?? "It costs nothing: it is a signature, not a transaction."]);
  $("final").textContent = prepared.final;
  $("what").hidden = false;
  $("sign").focus();
}

async function pick() { // the visitor's own payments to this agent, which the index learned
  fail("");
  await connect();
  const { paid } = await (await fetch(`/accounts/${account}.json`)).json(), agent = form.elements.agent.value;
  const own = paid.filter((it) => it.agent === agent || agent.endsWith(`#${it.agent.split(":")[1]}`));
  if (!own.length) stop(`The index knows no payment of ${account} to this agent.`);
  $("payments").replaceChildren(...own.map((it) => new Option(`$${it.dollars} in block ${it.block}`, it.transaction)));
  form.elements.payment.value = own[0].transaction;
  form.elements.payment.dispatchEvent(new Event("input", { bubbles: true }));
}

async function connect() {
  provider = wallets.get(form.elements.provider.value);
  const accounts = await ask("eth_requestAccounts");
  account = accounts[0] ?? stop("The wallet shows no account: choose one in it.");
  for (const event of ["accountsChanged", "chainChanged"]) provider.on?.(event, reset);
  if (!same(await ask("eth_chainId"), hex)) {
    try { await ask("wallet_switchEthereumChain", { chainId: hex }); } catch (error) {
      stop(error?.code === 4001 ? `Your wallet stays on another chain. This needs ${network} (chain ${chain}).` : `Your wallet does not know ${network} (chain ${chain}): add this chain to it, then try again.`);
    }
    if (!same(await ask("eth_chainId"), hex)) stop(`Your wallet is still on another chain. This needs ${network} (chain ${chain}).`);
  }
}

function reset() { prepared = null; $("what").hidden = true; }

async function begin() {
  fail(""); reset();
  await connect();
  prepared = await post("/v1/transactions", { ...fields(), account });
  show();
}

async function requireSameChain({ number, hash }) { // a wallet may name a chain and be on another one
  for (let tries = 0; tries < 4; tries += 1, await pause(POLL)) {
    const block = await ask("eth_getBlockByNumber", "0x" + number.toString(16), false);
    if (block) return same(block.hash, hash) || stop(`Your wallet says that it is on ${network}, but its block ${number} is another one. Nothing was sent: check the node of your wallet.`);
  }
  stop(`Your wallet says that it is on ${network}, but it does not know block ${number}. Nothing was sent.`);
}

async function sign() {
  fail("");
  const { transaction, signature, block } = prepared;
  if (signature) {
    const { account: signer, typed_data: typed, message, path, body, place } = signature, names = place.split("."), last = names.pop();
    const value = typed ? await ask("eth_signTypedData_v4", signer, JSON.stringify(typed)) : await ask("personal_sign", message, signer);
    names.reduce((part, name) => part[name], body)[last] = value;
    const answer = await post(path, body);
    if ("txRef" in answer) return relayed(answer, path);
    if (!answer.transaction && !answer.signature) return finish(answer);
    prepared = answer;
    return show();
  }
  await requireSameChain(block);
  const hash = await ask("eth_sendTransaction", transaction);
  const mine = prepared;
  reset();
  url.searchParams.set("tx", hash);
  history.replaceState(null, "", url);
  await follow(hash, mine.transaction);
}

async function relayed({ id, txRef }, path) { // the service sends the signed feedback, and pays the gas
  reset();
  $("progress").hidden = false;
  for (; !txRef; await pause(POLL)) {
    list("states", ["Signed. The service sends it soon."]);
    const entry = await (await fetch(`${path}/${id}`)).json();
    if (entry.state === "failed") stop(entry.problem);
    txRef = entry.transaction;
  }
  const hash = txRef.split(":").pop();
  url.searchParams.set("tx", hash);
  history.replaceState(null, "", url);
  await follow(hash);
}

function finish(answer) {
  reset();
  $("progress").hidden = false;
  list("states", [answer.message ?? answer.summary[0]]);
  $("hash").textContent = answer.result ?? answer.transaction_hash ?? "";
}

async function indexed() { // the last block of the index
  const answer = await fetch("/v1/chains").catch(() => null), chains = answer?.ok ? (await answer.json()).items : [];
  return chains.find((it) => it.progress.chain_id === Number(chain))?.progress.block ?? -1;
}

async function follow(hash, wanted) { // until the index shows it and enough blocks are on top of it
  const mine = ++run;
  let nonce, sender, mined;
  $("progress").hidden = false; $("hash").textContent = `Transaction ${hash}`;
  for (let shown = false; mine === run; await pause(POLL)) {
    const receipt = await ask("eth_getTransactionReceipt", hash).catch(() => undefined);
    if (receipt === undefined) { list("states", ["Your wallet does not answer. This page asks again."]); continue; }
    if (!receipt) {
      const sent = await ask("eth_getTransactionByHash", hash);
      if (sent) { nonce = BigInt(sent.nonce); sender = sent.from; }
      if (wanted && sent) check(sent, wanted);
      const next = sender && BigInt(await ask("eth_getTransactionCount", sender, "latest"));
      if (!sent && sender && next > nonce) return fail("Another transaction of your account took its place: it was replaced, and this one never happens.");
      list("states", [mined ? `A reorganisation took it back out of block ${mined}. It waits again.` : sent || wanted ? "Pending: it waits for a block." : "Your wallet's node does not know this transaction (yet)."]);
      continue;
    }
    sender ??= receipt.from;
    if (wanted) check({ ...receipt, input: wanted.data }, wanted);
    const block = Number(receipt.blockNumber), on = Number(await ask("eth_blockNumber")) - block + 1;
    if (mined && mined !== block) shown = false;
    mined = block;
    if (receipt.status !== "0x1") return $("problem").hidden && fail(`It is in block ${block} and failed: the contract refused it. The gas is spent, and nothing else changed.`);
    const log = topic && receipt.logs.find((it) => it.topics[0] === topic);
    const path = shows.replace("{block}", block).replace("{log}", log && Number(log.logIndex)).replace("{id}", log && BigInt(log.topics[1]));
    const index = await indexed();
    if (index >= block && !shown) shown = (await fetch(`${path}.json`)).ok;
    list("states", ["Sent.", `Mined in block ${block}.`, on >= confirmations ? `Confirmed by ${confirmations} blocks.` : `${on} of ${confirmations} blocks on top.`,
      shown ? "The index has it." : index < block ? "The index does not have it yet." : `The index is at block ${index} and does not have it: your wallet may be on another chain.`]);
    $("result").hidden = !shown; $("result").href = path;
    if (shown && on >= confirmations) return;
  }
}

function check(sent, wanted) { // a wallet may send another transaction than it was asked for
  if (!same(sent.from, wanted.from)) fail(`The wallet sent it from ${sent.from}, not from ${wanted.from} as it said.`);
  else if (!same(sent.to, wanted.to) || !same(sent.input, wanted.data)) fail("The wallet sent another transaction than the one that this page asked for.");
}

async function guarded(button, work) {
  button.disabled = true;
  try { await work(); } catch (error) { fail(wordsOf(error)); }
  button.disabled = false;
}

async function validate() {
  for (const it of form.querySelectorAll("[list$=-list]")) form.querySelector(`output[for=${it.id}]`).textContent = [...it.list.options].find((option) => option.value === it.value)?.textContent ?? "";
  if (!form.checkValidity()) return;
  try {
    const { document: file } = await post("/v1/transactions", fields());
    $("check").textContent = "";
    $("file").hidden = !file;
    $("document").textContent = file ? JSON.stringify(file, null, 2) : "";
  } catch (error) { $("check").textContent = error.words ?? ""; }
}

form.addEventListener("input", () => { reset(); clearTimeout(timer); timer = setTimeout(validate, 250); });
form.addEventListener("submit", (event) => { event.preventDefault(); guarded($("go"), begin); });
$("pick")?.addEventListener("click", () => guarded($("pick"), pick));
$("sign").addEventListener("click", () => guarded($("sign"), sign));
if (url.searchParams.has("tx")) { $("progress").hidden = false; $("hash").textContent = `Transaction ${url.searchParams.get("tx")}`; list("states", [`Open a wallet on ${network} (chain ${chain}) to see its state.`]); }
addEventListener("eip6963:announceProvider", announce);
dispatchEvent(new Event("eip6963:requestProvider"));
$("none").hidden = wallets.size > 0;
validate();

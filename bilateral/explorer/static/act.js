"use strict"; // Acts with the visitor's wallet (EIP-6963). The service prepares, signing.js checks, the wallet signs and sends.
const $ = (id) => document.getElementById(id), form = $("act"), { action, chain, network, shows, topic, confirmations, says } = form.dataset;
const facts = JSON.parse(form.dataset.facts), stepWords = JSON.parse(form.dataset.steps);
const hex = "0x" + Number(chain).toString(16), wallets = new Map(), watched = new WeakSet(), url = new URL(location), POLL = 700;
let provider, account, checking, prepared, timer, run = 0, attempt = 0;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const item = (tag, text, kept) => Object.assign(document.createElement(tag), { textContent: visible(text, kept) });
const fail = (text) => { $("problem").textContent = visible(text ?? ""); $("problem").hidden = !text; };
const list = (id, lines) => { // a region that says the same again stays silent
  if ($(id).dataset.lines !== lines.join("\n")) $(id).replaceChildren(...lines.map((line) => item("li", line)));
  $(id).dataset.lines = lines.join("\n");
};
const codeOf = (error) => Number(error?.data?.originalError?.code ?? error?.data?.cause?.code ?? error?.code);
const WALLET_WORDS = {
  4001: "You rejected the request in the wallet. Nothing was sent.",
  5000: "You rejected the request in the wallet. Nothing was sent.",
  4100: "Your wallet is locked, or does not let this page use the account: unlock the wallet, allow this page, and try again.",
  4200: "Your wallet does not support this request. Use another wallet.",
  4900: "Your wallet is not connected to any chain: check its network settings and try again.",
  4901: `Your wallet is not connected to ${network} (chain ${chain}): check its network settings and try again.`,
  "-32002": "Your wallet is still waiting for your response to an earlier request: respond in the wallet and try again.",
};
const SWITCH_WORDS = {
  4001: `Your wallet is still on another chain. This action requires ${network} (chain ${chain}).`,
  5000: `Your wallet is still on another chain. This action requires ${network} (chain ${chain}).`,
  4200: `Your wallet does not let pages switch chains: select ${network} (chain ${chain}) in the wallet and try again.`,
  4902: `Your wallet does not have ${network} (chain ${chain}): add this chain to the wallet and try again.`,
};
const ask = async (method, ...params) => {
  try { return await provider.request({ method, params }); } catch (error) {
    const code = codeOf(error), own = method === "wallet_switchEthereumChain" ? SWITCH_WORDS[code] : undefined;
    throw { code, words: own ?? WALLET_WORDS[code] ?? `The wallet reported: ${String(error?.data?.message ?? error?.message ?? error).slice(0, 300)}` };
  }
};
const wordsOf = (error) => error?.words ?? `This page failed: ${String(error?.message ?? error).slice(0, 300)}. Reload it; if it fails again, report this to the operator.`;
const isOn = (id) => { try { return BigInt(String(id).trim()) === BigInt(chain); } catch { return false; } };

/** Returns the value that a field shows while nobody changed it: that of the present file, as the browser writes it. */
function unchanged(it) {
  const present = it.dataset.present;
  if (it.type === "checkbox") return present === undefined ? it.defaultChecked : present === "true";
  if (present === undefined) return it.defaultValue;
  const copy = it.cloneNode();
  copy.value = present;
  return copy.value;
}

function fields() {
  const body = { action };
  for (const it of form.elements) if (it.name && it.name !== "provider") {
    const value = it.type === "checkbox" ? it.checked : it.value.trim();
    if ("changes" in form.dataset && it.name !== "agent" && (it.type === "checkbox" ? it.checked : it.value) === unchanged(it)) continue;
    if (value !== "" || "changes" in form.dataset) body[it.name] = value;
  }
  return body;
}

async function get(path, options) {
  const answer = await fetch(path, options).catch(() => stop("The service is not responding. Nothing was sent: try again later."));
  const value = await answer.json().catch(() => stop(`The service responded with status ${answer.status} and no JSON. Nothing was sent: try again later.`));
  if (answer.ok) return value;
  const first = value?.errors?.[0];
  return stop(first ? `${first.in.split(".").pop()}: ${first.problem}` : value?.detail ?? `The service responded with status ${answer.status}. Nothing was sent: try again later.`);
}

const post = (path, body) => get(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

function announce({ detail: { info, provider: it } }) {
  if (wallets.has(info.uuid)) return;
  wallets.set(info.uuid, it);
  const label = document.createElement("label"), radio = Object.assign(document.createElement("input"), { type: "radio", name: "provider", value: info.uuid });
  label.className = "wallet";
  radio.checked = wallets.size === 1;
  label.append(radio, visible(info.name));
  $("wallets").append(label);
  $("wallets").hidden = wallets.size < 2;
  $("go").disabled = false; $("none").hidden = true;
  resume(it);
}

async function resume(it) { // after a reload, with the first wallet on the right chain
  const tx = url.searchParams.get("tx"), id = tx && await it.request({ method: "eth_chainId" }).catch(() => null);
  if (tx && !provider && isOn(id)) { provider = it; follow(tx).catch((error) => fail(wordsOf(error))); }
}

/** Shows what was checked. Every word is this page's own, a field of the form, or a part of what is signed. */
function show(cost) {
  const { to, name, fields: parts, file, send, method, signer = account } = prepared, body = checking.body, isSent = method === "eth_sendTransaction";
  const more = { changes: Object.keys(registration(body)).join(", ") || "nothing", times: Number(body.count ?? 1) === 1 ? "once" : `${body.count} times`, ...facts, agent: body.agent ?? facts.about };
  const value = (key) => body[key] ?? more[key] ?? "";
  const sentence = says.replace(/\[(.*?)\]/g, (_, part) => [...part.matchAll(/\{(\w+)\}/g)].every((match) => value(match[1]) !== "") ? part : "").replace(/\{(\w+)\}/g, (_, key) => value(key));
  const registry = to && Object.entries(facts.registries).find(([address]) => same(address, to))[1];
  list("says", [
    [sentence, stepWords[checking.count]].filter(Boolean).join(" "),
    isSent ? `It calls ${name} of the ${registry} ${to} on ${network} (chain ${chain}), and transfers no money.` : name === "KeptFile" ? "It lets this service store and publish the file. You sign the transaction next." : to ? `It is a signature for the ${registry} ${to} on ${network} (chain ${chain}).` : "It is a signature over 32 bytes, which your wallet displays as they are.",
    `You are signing as ${signer}.`,
    isSent ? `${cost?.sentence ?? ""} The limit is ${BigInt(send[0].gas)} gas.`.trim() : "It costs nothing: it is a signature, not a transaction.",
  ]);
  $("parts").replaceChildren(...Object.entries({ [isSent ? "function" : "signature"]: name, ...parts }).flatMap(([key, part]) => [item("dt", key), Object.assign(item("dd", part), { tabIndex: String(part).length > 300 ? 0 : -1 })]));
  $("file-h").textContent = method === "personal_sign" ? "The file, once both are signed" : "The file that you sign";
  $("file").hidden = file === undefined;
  $("document").textContent = visible(file ?? "", "\n\t");
  $("what").hidden = false;
  $("sign").focus({ preventScroll: true });
  $("what").scrollIntoView({ block: "start" });
}

async function prepare(answer) {
  const mine = attempt, checked = await checking.check(answer);
  if (mine !== attempt) return; // the form or the account changed meanwhile
  prepared = checked;
  prepared.answer = answer;
  show(answer.cost);
}

async function pick() { // the visitor's own payments to this agent, which the index learned
  fail("");
  await connect();
  const { paid } = await get(`/accounts/${account}.json`), agent = form.elements.agent.value;
  const own = paid.filter((it) => it.agent === agent || agent.endsWith(`#${it.agent.split(":")[1]}`));
  if (!own.length) stop(`The index has no payment from ${account} to this agent.`);
  $("payments").replaceChildren(...own.map((it) => new Option(`$${it.dollars} in block ${it.block}`, it.transaction)));
  form.elements.payment.value = own[0].transaction;
  form.elements.payment.dispatchEvent(new Event("input", { bubbles: true }));
}

async function connect() {
  provider = wallets.get(form.elements.provider.value);
  const accounts = await ask("eth_requestAccounts");
  account = accounts?.[0] ?? stop("The wallet did not provide an account: select one in the wallet.");
  if (!watched.has(provider)) {
    provider.on?.("accountsChanged", (changed) => same(changed?.[0], account) || reset());
    provider.on?.("chainChanged", (id) => isOn(id) || reset());
    watched.add(provider);
  }
  if (isOn(await ask("eth_chainId"))) return;
  await ask("wallet_switchEthereumChain", { chainId: hex });
  if (!isOn(await ask("eth_chainId"))) stop(`Your wallet is still on another chain. This action requires ${network} (chain ${chain}).`);
}

function reset() { attempt += 1; prepared = null; $("what").hidden = true; }

async function begin() {
  clearTimeout(timer);
  fail(""); reset();
  await connect();
  const mine = attempt;
  const body = fields(), answer = await post("/v1/transactions", { ...body, account });
  if (mine !== attempt) return;
  checking = { body, count: 0, ...checker(action, body, account, facts, ask) };
  await prepare(answer);
}

async function requireSameChain({ number, hash }) { // a wallet may name a chain and be on another one
  for (let tries = 0; tries < 4; tries += 1, await pause(POLL)) {
    const block = await ask("eth_getBlockByNumber", "0x" + number.toString(16), false);
    if (block) return same(block.hash, hash) || stop(`Your wallet claims to be on ${network}, but its block ${number} differs. Nothing was sent: check which node your wallet uses.`);
  }
  stop(`Your wallet claims to be on ${network}, but it does not have block ${number}. Nothing was sent: check which node it uses.`);
}

async function sign() {
  fail("");
  const mine = prepared, { method, send, answer } = mine;
  if (!isOn(await ask("eth_chainId"))) stop(`Your wallet has switched to another chain. This action requires ${network} (chain ${chain}). Nothing was signed.`);
  if (method === "eth_sendTransaction") await requireSameChain(answer.block);
  if (mine !== prepared) return;
  const value = await ask(method, ...send);
  if (method === "eth_sendTransaction") {
    reset();
    remember(value);
    return follow(value, send[0]);
  }
  const { path, body, place } = answer.signature, names = place.split("."), last = names.pop();
  names.reduce((part, name) => part[name], body)[last] = value;
  checking.add(mine, value);
  checking.count += 1;
  const next = await post(path, body);
  if (!checking.isOver()) return prepare(next);
  return "txRef" in next ? relayed(next, path) : finish(next, mine.fields, value);
}

function remember(hash) { // in the address for a reload, and in this window's history as an own one
  url.searchParams.set("tx", hash);
  history.replaceState({ own: hash }, "", url);
}

function progress() {
  $("progress").hidden = false;
  $("progress").focus({ preventScroll: true });
  $("progress").scrollIntoView({ block: "nearest" });
}

async function relayed({ id, txRef }, path) { // the service sends the signed feedback, and pays the gas
  reset();
  progress();
  for (; !txRef; await pause(POLL)) {
    list("states", ["Signed. The service will send it soon."]);
    const entry = await get(`${path}/${id}`);
    if (entry.state === "failed") stop(entry.problem);
    txRef = entry.transaction;
  }
  const hash = txRef.split(":").pop();
  remember(hash);
  await follow(hash);
}

function finish(answer, parts, signature) {
  reset();
  progress();
  list("states", [answer.message ?? "Signed."]);
  // An authorisation is made of what was signed, whatever the service answers.
  $("hash").textContent = action === "authorize_feedback" ? `0x${Object.values(parts).map(word).join("")}${bare(signature)}` : visible(answer.transaction_hash ?? "");
}

async function indexed() { // the last block of the index
  const answer = await fetch("/v1/chains").catch(() => null), chains = answer?.ok ? (await answer.json()).items : [];
  return chains.find((it) => it.progress.chain_id === Number(chain))?.progress.block ?? -1;
}

async function follow(hash, wanted) { // until the index shows it and enough blocks are on top of it
  const mine = ++run, isOwn = history.state?.own === hash, whose = isOwn ? "your account" : "its sender";
  let nonce, sender, mined;
  heading(hash, isOwn);
  if (isOwn) progress();
  for (let shown = false; mine === run; await pause(POLL)) {
    const receipt = await ask("eth_getTransactionReceipt", hash).catch(() => undefined);
    if (receipt === undefined) { list("states", ["Your wallet is not responding. This page keeps trying."]); continue; }
    if (!receipt) {
      const sent = await ask("eth_getTransactionByHash", hash);
      if (sent) { nonce = BigInt(sent.nonce); sender = sent.from; }
      if (wanted && sent) check(sent, wanted);
      const next = sender && BigInt(await ask("eth_getTransactionCount", sender, "latest"));
      if (!sent && sender && next > nonce) return fail(`This transaction was replaced by another one from ${whose} and will never take effect.`);
      list("states", [mined ? `A reorganisation removed it from block ${mined}. It is pending again.` : sent || wanted ? "Pending: waiting to be included in a block." : "Your wallet's node does not have this transaction (yet)."]);
      continue;
    }
    sender ??= receipt.from;
    if (wanted) check({ ...receipt, input: wanted.data }, wanted);
    const block = Number(receipt.blockNumber), on = Number(await ask("eth_blockNumber")) - block + 1;
    if (mined && mined !== block) shown = false;
    mined = block;
    if (Number(receipt.status) !== 1) return $("problem").hidden && fail(`The transaction failed in block ${block}, because the contract rejected it. The gas was spent, but nothing else changed.`);
    const log = topic && receipt.logs.find((it) => same(it.topics[0], topic) && Object.keys(facts.registries).some((address) => same(address, it.address)));
    const path = shows.replace("{block}", block).replace("{log}", log && Number(log.logIndex)).replace("{id}", log && BigInt(log.topics[1]));
    const index = await indexed();
    if (index >= block && !shown) shown = await fetch(`${path}.json`).then((answer) => answer.ok, () => false);
    list("states", [isOwn ? "Sent." : `Sent by ${sender} to ${receipt.to}.`, `Mined in block ${block}.`, on >= confirmations ? `Confirmed by ${confirmations} blocks.` : `${on} of ${confirmations} confirmations.`,
      shown ? "Indexed." : index < block ? "Not indexed yet." : `The index has reached block ${index} without finding it: your wallet may be on another chain.`]);
    $("result").hidden = !shown; $("result").href = path;
    if (shown && on >= confirmations) return;
  }
}

function heading(hash, isOwn) {
  $("state-h").textContent = isOwn ? "Your transaction" : "The transaction in the link to this page";
  $("hash").textContent = `Transaction ${visible(hash).slice(0, 100)}${isOwn ? "" : ". It was not sent from this window."}`;
  $("progress").hidden = false;
}

function check(sent, wanted) { // a wallet may send another transaction than it was asked for
  if (!same(sent.from, wanted.from)) fail(`The wallet sent the transaction from ${sent.from}, not from ${wanted.from}, the account that it provided.`);
  else if (!same(sent.to, wanted.to) || !same(sent.input, wanted.data)) fail("The wallet sent a different transaction from the one that this page requested.");
}

async function guarded(button, work) { // a disabled button would lose the focus
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  try { await work(); } catch (error) { fail(wordsOf(error)); }
  button.removeAttribute("aria-disabled");
}

async function validate() {
  for (const it of form.querySelectorAll("[list$=-list]")) form.querySelector(`output[for=${it.id}]`).textContent = [...it.list.options].find((option) => option.value === it.value)?.textContent ?? "";
  if (!form.checkValidity()) return;
  const mine = attempt;
  try {
    const { document: file } = await post("/v1/transactions", fields());
    if (mine !== attempt || prepared) return; // what is signed stays on the screen
    $("check").textContent = "";
    $("file-h").textContent = "changes" in form.dataset ? "Your changes to the file" : "The file";
    $("file").hidden = !file;
    $("document").textContent = file ? visible(JSON.stringify(file, null, 2), "\n") : "";
  } catch (error) { $("check").textContent = visible(error.words ?? ""); }
}

form.addEventListener("input", () => { reset(); clearTimeout(timer); timer = setTimeout(validate, 250); });
form.addEventListener("submit", (event) => { event.preventDefault(); guarded($("go"), begin); });
$("pick")?.addEventListener("click", () => guarded($("pick"), pick));
$("sign").addEventListener("click", () => guarded($("sign"), sign));
if (url.searchParams.has("tx")) { heading(url.searchParams.get("tx"), history.state?.own === url.searchParams.get("tx")); list("states", [`Open a wallet on ${network} (chain ${chain}) to see the transaction's state.`]); }
addEventListener("eip6963:announceProvider", announce);
dispatchEvent(new Event("eip6963:requestProvider"));
$("none").hidden = wallets.size > 0;
validate();

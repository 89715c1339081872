"use strict"; // Compares what the service prepared with the form and with this page's own facts, before a wallet sees it.
const stop = (words) => { throw { words }; };
const same = (a, b) => String(a).toLowerCase() === String(b).toLowerCase();
const differs = (words) => stop(`The service prepared something that does not match this form: ${words}. It was not passed to your wallet. Reload the page; if this happens again, report it to the operator.`);
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]/gu;
const visible = (text, kept = "") => String(text).replace(UNSEEN, (sign) => kept.includes(sign) ? sign : `[U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
const SIGNED = /^int/, HEX = /^(eip155:\d+:)?0x[0-9a-f]*$/i, DAY = 86400, LEEWAY = 3600, MOST_GAS = 30_000_000n;
const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hexOf = (bytes) => "0x" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const keccak = (bytes) => "0x" + (globalThis.keccak_256 ?? stop("One of this page's files is missing, so the page cannot check what you sign."))(bytes);
const textOf = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
const utf8 = (text) => new TextEncoder().encode(text);
const word = (value) => BigInt(value).toString(16).padStart(64, "0");

/** Reads ABI-encoded values, and refuses every encoding but the one that compilers write. */
function decode(hex, parts) {
  if (!/^(0x)?([0-9a-f]{2})*$/i.test(hex)) differs("it is not hexadecimal");
  const data = hex.replace(/^0x/, "").toLowerCase(), values = {};
  const at = (byte) => { const part = data.slice(2 * byte, 2 * byte + 64); return part.length === 64 ? part : differs("it is truncated"); };
  let tail = 32 * parts.length;
  parts.forEach(({ name, type }, index) => {
    const own = at(32 * index), number = BigInt("0x" + own), bits = Number(/\d+$/.exec(type));
    let value = "0x" + own;
    if (type === "string" || type === "bytes") {
      const length = Number(BigInt("0x" + at(tail))), end = tail + 32 + 32 * Math.ceil(length / 32), padded = data.slice(2 * (tail + 32), 2 * end);
      if (number !== BigInt(tail) || padded.length !== 2 * (end - tail - 32) || /[^0]/.test(padded.slice(2 * length))) differs(`${name} has a different encoding`);
      const content = padded.slice(0, 2 * length);
      value = type === "bytes" ? "0x" + content : textOf(bytesOf(content));
      tail = end;
    } else if (type === "address") {
      value = /^0{24}/.test(own) ? "0x" + own.slice(24) : differs(`${name} is not an address`);
    } else if (type !== "bytes32") {
      const whole = SIGNED.test(type) ? BigInt.asIntN(256, number) : number;
      if ((SIGNED.test(type) ? BigInt.asIntN(bits, whole) : BigInt.asUintN(bits, whole)) !== whole) differs(`${name} is out of range`);
      value = String(whole);
    }
    values[name] = value;
  });
  if (data.length !== 2 * tail) differs("there is more data than the function accepts");
  return values;
}

/** Reads a JSON object of which every reader reads the same: a name occurs once. */
function objectOf(text) {
  const names = (value) => value && typeof value === "object" ? Object.values(value).reduce((sum, inner) => sum + names(inner), Array.isArray(value) ? 0 : Object.keys(value).length) : 0;
  const parsed = () => { try { return JSON.parse(text); } catch { return differs("its file is not JSON"); } };
  const value = parsed(), written = [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter((match) => match[1]).length;
  return names(value) === written ? value : differs("a name occurs twice in the file");
}

function equal(a, b) {
  if (typeof a === "string" && typeof b === "string") return a === b || (HEX.test(a) && HEX.test(b) && same(a, b));
  if (!a || !b || typeof a !== "object" || typeof b !== "object") return a === b;
  const names = Object.keys(a);
  return Array.isArray(a) === Array.isArray(b) && names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && equal(a[name], b[name]));
}

/** Requires the same fields as expected, each with the expected value. A function checks a value that no form has. */
function requireFields(fields, expected, of) {
  for (const name of new Set([...Object.keys(fields), ...Object.keys(expected)])) {
    if (!Object.hasOwn(fields, name) || !Object.hasOwn(expected, name)) differs(`${of} ${Object.hasOwn(fields, name) ? "has" : "lacks"} the field ${visible(name)}`);
    const actual = fields[name], value = expected[name];
    if (!(typeof value === "function" ? value(actual) : equal(actual, value))) differs(`${name} of ${of} is ${visible(JSON.stringify(actual)).slice(0, 200)}`);
  }
}

const isTime = (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text);
const whole = (text, name) => /^\+?\d+(\.0*)?$/.test(text) ? String(BigInt(text.replace(/\+|\..*/g, ""))) : stop(`${name}: write a whole number, such as 90.`);
const services = (text) => text.split(/[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+/).map((line) => line.trim()).filter(Boolean)
  .map((line) => Object.fromEntries(line.split(/\s+/).map((part, index) => [["name", "endpoint", "version"][index], part])));
const filled = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
const bare = (text) => String(text).replace(/^0x/i, "").toLowerCase();

/** Returns the value of a form as the registry stores it: a whole number, and its decimals. */
function stored(text) {
  const [, sign, front, back = ""] = /^([+-]?)(\d+)(?:\.(\d*))?$/.exec(text) ?? stop("value: write a plain number, such as 99.7.");
  return { value: String(BigInt(front + back) * (sign === "-" ? -1n : 1n)), valueDecimals: String(back.length) };
}

/** Returns the fields of a registration file that a form fills. */
function registration(body) {
  const { name, description, image, x402, active, trust } = body, list = trust?.split(",").map((part) => part.trim()).filter(Boolean);
  const file = { name, description, image, services: body.services === undefined ? undefined : services(body.services), x402Support: x402, active, supportedTrust: list?.length ? list : undefined };
  return Object.fromEntries(Object.entries(file).filter(([, value]) => value !== undefined));
}

/** Returns the present file of an agent with the changes of a form. */
function edited(present, body, { agent, agentRegistry }) {
  const before = present ? objectOf(present) : stop("This page does not have the agent's current file, so it cannot check the new one: wait until the index has read it, or use the command line."), all = before.registrations ?? [];
  const isIn = all.some((it) => String(it?.agentId) === agent && same(it?.agentRegistry, agentRegistry));
  return { ...before, ...registration(body), ...(isIn ? {} : { registrations: [...all, { agentId: Number(agent), agentRegistry }] }) };
}

/**
 * Returns the function that checks what the service prepared for one action of one account, step by step.
 *
 * It returns what the page shows and hands to the wallet, made of checked values alone. What no form says is checked
 * with the wallet's own node: owners, indexes, the present URI.
 */
function checker(action, body, account, facts, ask) {
  const done = [], agentId = facts.agent, chain = String(facts.chain), me = `eip155:${chain}:${account}`;
  let file;

  async function read(name, ...values) {
    const { to, selector, outputs } = facts.reads.find((it) => it.name === name) ?? stop(`No registry on this chain has ${name}.`);
    const answer = await ask("eth_call", { to, data: selector + values.map(word).join("") }, "latest");
    return decode(answer, outputs.map(({ type }) => ({ name, type })))[name];
  }

  async function soon(name, seconds) { // by the later of two clocks
    const block = await ask("eth_getBlockByNumber", "latest", false), now = Math.max(Date.now() / 1000, Number(block?.timestamp ?? 0));
    return (deadline) => (/^\d+$/.test(deadline) && Number(deadline) <= now + seconds) || differs(`${name} is ${visible(deadline)}, which is too far ahead`);
  }

  async function requireFile(uri, expected, hash) { // the bytes are those that the page shows
    const inline = /^data:application\/json;base64,([A-Za-z0-9+/]*={0,2})$/.exec(uri), own = `${String(facts.files).replace(/\/+$/, "")}/`;
    let bytes;
    if (inline) bytes = Uint8Array.from(atob(inline[1]), (sign) => sign.charCodeAt(0));
    else if (body.keep && facts.files && uri.startsWith(own) && /^[0-9a-f]{64}\.json$/.test(uri.slice(own.length))) {
      const answer = await fetch(`/files/${uri.slice(own.length)}`);
      bytes = answer.ok ? new Uint8Array(await answer.arrayBuffer()) : differs(`its file ${uri} is missing`);
      if (bare(keccak(bytes)) !== uri.slice(own.length, -5)) differs("its file does not match the hash in its URL");
    } else differs(`its file is at ${visible(uri).slice(0, 200)}`);
    if (hash !== undefined && !same(hash, keccak(bytes))) differs("the hash does not match its file");
    requireText(textOf(bytes), expected);
  }

  function requireText(text, expected) {
    file = text;
    requireFields(objectOf(file), expected, "the file");
    return file;
  }

  async function registrationFile() { // what the form makes of the present file, or of none
    if (action === "register_agent") return { type: "https://eips.ethereum.org/EIPS/eip-8004#registration-v1", services: [], ...registration(body) };
    const uri = await read("tokenURI", agentId), inline = /^data:application\/json;base64,(.*)$/.exec(uri);
    return edited(inline ? textOf(Uint8Array.from(atob(inline[1]), (sign) => sign.charCodeAt(0))) : facts.present, body, facts);
  }

  const keptFile = async (fields) => ({ account, file: requireText(String(fields.file), await registrationFile()), deadline: await soon("deadline", 600) });

  async function payment(hash) { // as a feedback file names it
    const wallet = await read("getAgentWallet", agentId), toAddress = BigInt(wallet) ? wallet : await read("ownerOf", agentId);
    return { fromAddress: account, toAddress, chainId: chain, txHash: hash };
  }

  async function requireFeedback({ value, valueDecimals, tag1, tag2, endpoint, feedbackURI, feedbackHash }, more) {
    const fields = filled({ tag1, tag2, endpoint, ...more });
    if (!Object.keys(filled(more)).length) return requireFields({ feedbackURI, feedbackHash }, { feedbackURI: "", feedbackHash: "0x" + word(0) }, "giveFeedback");
    return requireFile(feedbackURI, { agentRegistry: facts.agentRegistry, agentId: Number(agentId), clientAddress: me, createdAt: isTime, value: Number(value), valueDecimals: Number(valueDecimals), ...fields }, feedbackHash);
  }

  const rating = async (subject, { agentServerId, clientOwner, validatorOwner }) => ({ // the longer functions name the rater and the owner
    [subject]: agentId, rating: whole(body.rating, "rating"),
    ...(agentServerId === undefined ? {} : { agentServerId: await read("agentOf", account), [subject === "agentClientId" ? "clientOwner" : "validatorOwner"]: await read("ownerOf", agentId) }),
  });
  const tags = () => ({ tag1: body.tag1 ?? "", tag2: action === "sponsored_feedback" ? "x402" : body.tag2 ?? "", endpoint: body.endpoint ?? "" });

  const calls = { // the arguments of each action's function
    async register_agent({ agentURI }) {
      await requireFile(agentURI, await registrationFile());
      return { agentURI };
    },
    async edit_registration({ newURI }) {
      await requireFile(newURI, await registrationFile());
      return { agentId, newURI };
    },
    set_agent_wallet: () => ({ agentId, newWallet: body.wallet, deadline: done[0].fields.deadline, signature: done[0].value }),
    set_primary_agent: () => ({ agentId }),
    async give_feedback(fields) {
      await requireFeedback(fields, { text: body.text, proofOfPayment: body.payment && await payment(body.payment) });
      return { agentId, ...stored(body.value), ...tags(), feedbackURI: fields.feedbackURI, feedbackHash: fields.feedbackHash };
    },
    revoke_feedback: () => ({ agentId, feedbackIndex: facts.number }),
    async append_response({ responseURI, responseHash }) {
      await requireFile(responseURI, { text: body.text, createdAt: isTime }, responseHash);
      return { agentId, clientAddress: facts.by, feedbackIndex: facts.number, responseURI, responseHash };
    },
    rate_client: (fields) => rating("agentClientId", fields),
    rate_validator: (fields) => rating("agentValidatorId", fields),
    respond_to_validation: () => ({ requestHash: body.request, response: whole(body.response, "response"), responseURI: body.uri ?? "", responseHash: "0x" + word(0), tag: body.tag ?? "" }),
  };

  const messages = { // the fields of each action's typed message
    register_agent: keptFile,
    edit_registration: keptFile,
    set_agent_wallet: async () => ({ agentId, newWallet: body.wallet, owner: await read("ownerOf", agentId), deadline: await soon("deadline", 600) }),
    authorize_feedback: async () => ({
      agentId, clientAddress: body.client, indexLimit: String(BigInt(await read("getLastIndex", agentId, body.client)) + BigInt(whole(body.count ?? "1", "count"))),
      expiry: await soon("expiry", DAY + LEEWAY), chainId: chain,
    }),
    publish_review: () => ({
      buyer: account, sellerRegistry: facts.identity, sellerAgentId: agentId, score: whole(body.score, "score"),
      tagsHash: keccak(utf8('["",""]')), noteHash: keccak(utf8(body.note ?? "")), txHash: body.payment, chainId: chain,
    }),
    async sponsored_feedback(fields) {
      const { taskRef, interactionHash, agentSignature } = statement();
      await requireFeedback({ ...fields }, {
        taskRef, interactionHash: `0x${bare(interactionHash)}`, agentSignature: bare(agentSignature), clientSignature: bare(done[0].value),
        tags: [tags().tag1, "x402"], comment: body.text, proofOfPayment: await payment(taskRef.split(":").pop()),
      });
      const feedbackIndex = String(BigInt(await read("getLastIndex", agentId, account)) + 1n), { feedbackURI, feedbackHash } = fields;
      return { agentId, clientAddress: account, feedbackIndex, ...stored(body.value), ...tags(), feedbackURI, feedbackHash, deadline: await soon("deadline", DAY + LEEWAY) };
    },
  };

  function statement() { // the signed statement about a paid answer, which other extensions wrap
    let fields = JSON.parse(body.statement);
    for (const name of ["info", "interaction"]) if (fields[name] && typeof fields[name] === "object") fields = fields[name];
    return fields;
  }

  async function transaction({ from, to, value, data, gas, ...more }) {
    const selector = String(data).slice(0, 10), call = facts.calls.find((it) => same(it.selector, selector) && same(it.to, to));
    if (Object.keys(more).length) differs(`it has the field ${visible(Object.keys(more)[0])}`);
    if (!same(from, account)) differs(`it is from ${visible(from)}, not from ${account}`);
    if (!Object.keys(facts.registries).some((it) => same(it, to))) differs(`it goes to ${visible(to)}, which is not one of this page's registries`);
    if (!call) differs(`it calls the function ${visible(selector)}, which is not this form's function`);
    if (!/^0x[0-9a-f]+$/i.test(value) || BigInt(value)) differs(`it sends ${visible(value)} wei`);
    if (!/^0x[0-9a-f]+$/i.test(gas) || BigInt(gas) > MOST_GAS) differs(`its gas limit is ${visible(gas)}`);
    const fields = decode(data.slice(10), call.inputs);
    requireFields(fields, await calls[action](fields), call.name);
    return { method: "eth_sendTransaction", send: [{ from: account, to: call.to, value: "0x0", data, gas }], to: call.to, name: call.name, fields };
  }

  async function typed({ domain, types, primaryType, message, ...more }) {
    const expected = facts.message ?? differs("it requests a signature"), parts = expected.types[expected.primaryType];
    const of = [["name", "string"], ["version", "string"], ["chainId", "uint256"], ["verifyingContract", "address"]].map(([name, type]) => ({ name, type }));
    requireFields({ ...more, primaryType, domain: { ...domain, chainId: String(domain?.chainId) }, types }, {
      primaryType: expected.primaryType, domain: { ...expected.domain, chainId: chain }, types: { EIP712Domain: of, ...expected.types },
    }, "the message");
    const fields = Object.fromEntries(parts.map(({ name, type }) => [name, /int/.test(type) && /^-?\d+$/.test(message?.[name]) ? String(BigInt(message[name])) : message?.[name]]));
    requireFields({ ...message, ...fields }, await messages[action](fields), primaryType);
    const whole = { types: { EIP712Domain: of, ...expected.types }, primaryType, domain: expected.domain, message: fields };
    return { method: "eth_signTypedData_v4", sign: JSON.stringify(whole), to: expected.domain.verifyingContract, name: primaryType, fields };
  }

  function plain(message) { // the signature in a feedback file: 32 bytes, as the extension 8004-reputation defines them
    if (action !== "sponsored_feedback" || done.length) differs("it requests a signature over bytes");
    const { taskRef } = statement(), text = `${facts.agentRegistry}${agentId}${taskRef}`, { value } = stored(body.value);
    const hash = keccak(Uint8Array.from([...utf8(text), Number(value)]));
    if (!same(message, hash)) differs(`it requests a signature over ${visible(message).slice(0, 80)}`);
    file = JSON.stringify(filled({ taskRef, value: Number(value), tags: [tags().tag1, "x402"], endpoint: body.endpoint, comment: body.text }), null, 2);
    return { method: "personal_sign", sign: hash, name: "Signature of 32 bytes", fields: { bytes: hash, "keccak-256 of": `${text} and the byte ${value}` } };
  }

  const steps = { set_agent_wallet: ["typed", "transaction"], sponsored_feedback: ["plain", "typed"], authorize_feedback: ["typed"], publish_review: ["typed"] }[action] ?? (body.keep ? ["typed", "transaction"] : ["transaction"]);
  const paths = { publish_review: "/api/review", sponsored_feedback: "/v1/aggregator/feedback" };

  return {
    isOver: () => done.length === steps.length,
    add: (step, value) => done.push({ ...step, value }),
    async check(answer) {
      const { transaction: sent, signature, chain_id: on } = answer, step = steps[done.length];
      const kind = sent && !signature ? "transaction" : signature && !sent ? (signature.typed_data && !signature.message ? "typed" : "plain") : "nothing that can be signed";
      if (kind !== step) differs(`this step is a ${step ?? "result"}, but it prepared ${kind}`);
      if (String(on) !== chain) differs(`it is for chain ${visible(on)}`);
      file = undefined;
      if (kind === "transaction") return { ...await transaction(sent), file };
      const signer = action === "set_agent_wallet" ? body.wallet : account, isLast = done.length === steps.length - 1;
      const path = isLast && paths[action] || "/v1/transactions";
      if (!same(signature.account, signer)) differs(`it requests a signature by ${visible(signature.account)}, not by ${signer}`);
      if (signature.path !== path) differs(`the signature goes to ${visible(signature.path)}`);
      const checked = kind === "typed" ? await typed(signature.typed_data) : plain(signature.message);
      return { ...checked, file, signer, send: checked.method === "personal_sign" ? [checked.sign, signer] : [signer, checked.sign] };
    },
  };
}

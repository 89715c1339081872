// Asks a service by the package's client, and prints what it answers: node ask.mjs URL AGENT
import { BilateralService, ServiceError } from "bilateral/service";

const [url, agent] = process.argv.slice(2);
const service = new BilateralService(url);
const page = await service.search({ limit: 1 });
const refusal = await service.agent("31337:999").catch((error) => error);
console.log(
  JSON.stringify({
    agent: (await service.agent(agent)).id,
    found: page.items.map((item) => item.id),
    server: (await service.checkServer(agent)).verdict,
    client: (await service.checkClient(agent)).verdict,
    refusal: [refusal instanceof ServiceError, refusal.status, refusal.code],
  }),
);

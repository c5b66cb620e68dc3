/**
 * Serves the board on this machine: its files, the browser's build of the package `mqtt`, the
 * schemas of docs/fleet, and the broker's address in /settings.json. Nothing else is read.
 *   node serve.js --broker ws://127.0.0.1:9001 [--port 8090]
 */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { broker: { type: "string" }, port: { type: "string", default: "8090" } },
});
const broker = new URL(values.broker ?? "ws://127.0.0.1:9001");
const isLocal = ["127.0.0.1", "localhost", "[::1]"].includes(broker.hostname);
if (broker.protocol !== "wss:" && !(broker.protocol === "ws:" && isLocal)) {
  throw new Error("--broker: wss://host:port, or ws:// on this machine");
}
if (broker.username || broker.password) throw new Error("--broker: the board asks for the login");

const here = import.meta.dirname;
const root = join(here, "../..");
const documents = ["state", "alarm", "payment", "reconciliation", "metrics"];
/** @type {(name: string) => [path: string, file: string]} */
const own = (name) => [`/${name}`, join(here, name)];
/** @type {(name: string) => [path: string, file: string]} */
const schema = (name) => [`/schemas/${name}.json`, join(root, `docs/fleet/${name}.schema.json`)];
/** @type {[path: string, file: string][]} */
const served = [
  ["/", join(here, "index.html")],
  ...["board.css", "board.js", "dom.js", "fleet.js", "kiosk.js", "schema.js"].map(own),
  ["/mqtt.js", join(root, "node_modules/mqtt/dist/mqtt.esm.js")],
  ...documents.map(schema),
];
const files = new Map(served);
/** @type {Record<string, string>} */
const types = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript" };
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  `connect-src 'self' ${broker.origin}`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const server = createServer(async ({ method, url = "/", headers }, response) => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  const path = new URL(url, "http://board").pathname;
  const file = files.get(path);
  const isSettings = path === "/settings.json";
  const isKnown = isSettings || file !== undefined;
  if (!hosts.includes(headers.host ?? "") || method !== "GET" || !isKnown) {
    response.writeHead(404).end();
    return;
  }
  const type = file ? (types[extname(file)] ?? "application/json") : "application/json";
  const settings = JSON.stringify({ broker: broker.href, documents });
  try {
    const body = file === undefined ? settings : await readFile(file);
    response.writeHead(200, {
      "content-type": `${type}; charset=utf-8`,
      "content-security-policy": policy,
      "cache-control": "no-store",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    response.end(body);
  } catch {
    response.writeHead(500).end();
  }
});
server.listen(Number(values.port), "127.0.0.1", () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  process.stdout.write(`the board: http://127.0.0.1:${port}/\n`);
});

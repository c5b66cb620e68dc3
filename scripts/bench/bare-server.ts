import { smallMemoryOf } from "../../src/launcher/processes/launch-process.ts";
import { securityHeaders } from "../../src/tp-manager/http/door/access.ts";

/** A bare server of fastify and @fastify/basic-auth, with which the programs are compared. */
const bareServer = (onEach = "", routes = "") => `
import { flushCompileCache } from "node:module";
import fastify from "fastify";
import basicAuth from "@fastify/basic-auth";
const app = fastify();
${onEach}
await app.register(basicAuth, { validate: async () => {}, authenticate: true });
app.after(() => app.get("/", { onRequest: app.basicAuth }, async () => ({ hello: "world" })));
${routes && `app.after(() => {${routes}});`}
await app.listen({ port: 0, host: "127.0.0.1" });
flushCompileCache();
console.log("is ready on", app.server.address().port);
`;

/** The arguments of Node.js that run the server; it prints "is ready on" and its port. */
export const bareServerArguments = ["--input-type=module", "-e", bareServer()];

/** Sets the headers that each answer of the connector must have. */
const headers = `
const headers = ${JSON.stringify(securityHeaders)};
app.addHook("onRequest", (request, reply, done) => {
  reply.headers(headers);
  done();
});
`;
/** Counts the answers, and collects the figures of the process. */
const figures = `
const { collectDefaultMetrics, Histogram } = await import("prom-client");
collectDefaultMetrics();
const labelNames = ["method", "route", "status"];
const seconds = new Histogram({ name: "seconds", help: "-", labelNames });
app.addHook("onResponse", ({ method, routeOptions }, reply, done) => {
  seconds.labels(method, routeOptions.url, String(reply.statusCode)).observe(reply.elapsedTime);
  done();
});
`;
/** Opens a stream of events, whose first one is the state of a terminal. */
const stream = `
app.get("/events", { onRequest: app.basicAuth }, (request, reply) => {
  reply.hijack();
  const type = { "content-type": "text/event-stream", connection: "close" };
  reply.raw.writeHead(200, { ...reply.getHeaders(), ...type });
  reply.raw.write('event: terminal\\ndata: {"link":"connected"}\\n\\n');
});
`;
const { switches, environment } = smallMemoryOf("tp-manager");

/** The same server with more of what a server in tp-manager's place must have, step by step. */
export const fullerServers = [
  { name: "with headers", args: bareServerArguments.with(-1, bareServer(headers)), env: {} },
  {
    name: "and metrics",
    args: bareServerArguments.with(-1, bareServer(headers + figures)),
    env: {},
  },
  {
    name: "and small memory",
    args: [...switches, ...bareServerArguments.with(-1, bareServer(headers + figures, stream))],
    env: environment,
  },
];

/** The other packages that tp-manager loads at its start, and an open database. */
const packages = `
import "currency-codes";
import "iconv-lite";
import "pino";
import "prom-client";
import "zod";
import { DatabaseSync } from "node:sqlite";
new DatabaseSync(":memory:").exec("CREATE TABLE one (two)");
`;

/** The same server with the packages of tp-manager, which it does not use. */
export const packagesArguments = ["--input-type=module", "-e", packages + bareServer()];

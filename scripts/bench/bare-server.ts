/** A bare server of fastify and @fastify/basic-auth, with which the programs are compared. */
const bareServer = `
import { flushCompileCache } from "node:module";
import fastify from "fastify";
import basicAuth from "@fastify/basic-auth";
const app = fastify();
await app.register(basicAuth, { validate: async () => {}, authenticate: true });
app.after(() => app.get("/", { onRequest: app.basicAuth }, async () => ({ hello: "world" })));
await app.listen({ port: 0, host: "127.0.0.1" });
flushCompileCache();
console.log("is ready on", app.server.address().port);
`;

/** The arguments of Node.js that run the server; it prints "is ready on" and its port. */
export const bareServerArguments = ["--input-type=module", "-e", bareServer];

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
export const packagesArguments = ["--input-type=module", "-e", packages + bareServer];

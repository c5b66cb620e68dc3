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

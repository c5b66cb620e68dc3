/**
 * node:http without what nobody here uses: an `import` of it reads all its exports, `WebSocket`
 * among them, and with that Node loads undici: more than an empty start of Node costs.
 */
export const { createServer, request: httpRequest } = process.getBuiltinModule("node:http");

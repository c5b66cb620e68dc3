/**
 * node:http without what nobody here uses: an `import` of it reads all its exports, `WebSocket`
 * among them, and with that Node loads undici: more than an empty start of Node costs.
 */
export const { createServer, request: httpRequest } = process.getBuiltinModule("node:http");

/**
 * How large the head of a request may be at a port that serves pages. A browser sends there what
 * all other ports of the same name have set as cookies: of one name Chromium keeps 180 with 4,096
 * bytes each, and puts two bytes between them. So no other program can keep the pages away.
 */
export const PAGE_HEADER_BYTES_MAX = 768 * 1024;

import { z } from "zod";

/** Messages of the server that the tests start in a process of its own. */
export const testMessages = {
  echo: {
    request: z.object({ text: z.string() }),
    response: z.object({ text: z.string(), pid: z.int() }),
  },
  /** Answered when a `release` arrives. */
  hold: { request: z.object({}), response: z.object({ held: z.literal(true) }) },
  release: { request: z.object({}), response: z.object({ released: z.int() }) },
  fail: { request: z.object({}), response: z.object({}) },
  huge: { request: z.object({ bytes: z.int() }), response: z.object({ text: z.string() }) },
  misshapen: { request: z.object({}), response: z.object({ count: z.int() }) },
  unsendable: { request: z.object({}), response: z.unknown() },
  nothing: { request: z.object({}), response: z.unknown() },
  die: { request: z.object({}), response: z.object({}) },
} as const;

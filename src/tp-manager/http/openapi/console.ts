import { z } from "zod";
import { time } from "./schemas.ts";

/** Answers of the calls that the operator's console reads. */

const act = z.object({
  id: z.int(),
  at: time,
  login: z.string().describe("Of the session."),
  name: z.string().describe("The person's own word."),
  reason: z.string(),
  call: z.string().describe("Method and path."),
  body: z.string().nullable().describe("JSON, card numbers masked."),
  http: z.int().nullable(),
});

export const consoleSchemas = { act };

export const consoleAnswers = {
  act: {
    schema: act,
    example: {
      ...{ id: 7, at: "2026-01-15T12:00:00.000Z", login: "operator", name: "Anna" },
      ...{ reason: "hangs at the card reader", call: "POST /reset", body: null, http: 200 },
    },
  },
};

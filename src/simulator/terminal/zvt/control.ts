import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Machine } from "../protocol.ts";
import { type AskKind, askNames } from "./machine/ask-list.ts";
import type { Parts } from "./machine/parts.ts";
import type { Process } from "./machine/process.ts";
import { unregistered } from "./machine/registration.ts";

/** The control API's answers and routes that only a ZVT terminal has. */

export function stateOf({
  parts,
  process,
}: {
  parts: Parts;
  process: Process | undefined;
}): object {
  const { registration } = parts;
  return {
    registration: {
      ...registration,
      configByte: registration.configByte.toString(16).padStart(2, "0"),
      permitted: [...registration.permitted].map((control) => control.toString(16)),
    },
    running: process
      ? { command: process.control.toString(16).padStart(4, "0"), phase: process.phase }
      : null,
    language: parts.language,
    displayed: parts.displayed,
    terminalId: parts.device.terminalId,
    card: parts.readCard ?? null,
    reader: parts.reader,
    files: Object.fromEntries([...parts.files].map(([id, { length }]) => [id, length])),
    asked: parts.asks.asked,
  };
}

export function togglesOf(parts: Parts): Machine["toggles"] {
  return {
    zvtOff: {
      get on() {
        return parts.zvtOff;
      },
      set on(off) {
        parts.zvtOff = off;
      },
    },
    unregistered: {
      get on() {
        return !parts.registration.registered;
      },
      set on(forgets) {
        if (forgets) parts.registration = unregistered;
      },
    },
  };
}

export const askRoutes = {
  "POST /ask": '{"kind": NAME, "in": "payment" | "status"} ask the register once, in the next one',
};

export function addAskRoute(server: FastifyInstance, parts: Parts): void {
  const ask = z.strictObject({
    kind: z.enum(askNames as [AskKind, ...AskKind[]]),
    in: z.enum(["payment", "status"]).default("payment"),
  });
  server.post("/ask", (request) => {
    const { kind, in: place } = ask.parse(request.body);
    parts.asks.add(kind, place);
    return { kind, in: place };
  });
}

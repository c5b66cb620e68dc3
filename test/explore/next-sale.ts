import type { Connector } from "./connector.ts";
import { copyOf, type World } from "./world.ts";

/** A first request may be refused, because an attempt became in doubt; the second one may not. */
const REQUESTS = 2;
const ROUNDS_MAX = 40;

/** Whether another customer can pay in a world at rest, with nothing going wrong any more. */
export function canSellNext(world: World, connector: Connector): boolean {
  const next = copyOf(world);
  const { kiosk, line, ram } = next;
  for (let request = 0; request < REQUESTS; request++) {
    kiosk.request = { order: "next", stage: "prepare" };
    connector.prepare(next);
    connector.begin(next);
    if (line.message?.what === "payment") return true;
    for (let round = 0; round < ROUNDS_MAX && ram.inquiries.length > 0; round++) {
      for (const inquiry of ram.inquiries) connector.waited(next, inquiry);
      connector.probe(next);
    }
  }
  return false;
}

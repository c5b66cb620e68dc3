import type { NexoMessage } from "./envelope.ts";
import { bodyOf } from "./message-table.ts";
import { readPairs } from "./pairs.ts";

/** What a terminal says by itself (docs/nexo.md 8.2). */
export interface Notice {
  readonly about: "payment" | "terminal";
  readonly event: string;
  /** Of a payment: names the request that the terminal carries out, and `tender` its own. */
  readonly header: NexoMessage["header"];
  readonly tender?: string | undefined;
}

/** Reads a notification; null: it is another message. Throws {@link NexoCodecError} "shape". */
export function readNotice(message: NexoMessage): Notice | null {
  const { root, header, name } = message;
  if (root !== "SaleToPOIRequest") return null;
  if (name === "EventNotification") {
    return { about: "terminal", event: bodyOf(message, name).EventToNotify, header };
  }
  if (name !== "DisplayRequest") return null;
  const [{ OutputContent } = {}] = bodyOf(message, name).DisplayOutput;
  const pairs = readPairs(OutputContent?.PredefinedContent?.ReferenceID ?? "");
  const [event, tender] = [pairs.get("event"), pairs.get("TransactionID")];
  return event === undefined ? null : { about: "payment", event, header, tender };
}

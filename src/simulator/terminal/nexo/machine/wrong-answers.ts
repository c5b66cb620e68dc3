import { type NexoKey, type NexoMessage, nexoKey, writeMessage } from "../../../../nexo/index.ts";
import type { NexoParts } from "./parts.ts";

interface Right {
  readonly message: NexoMessage;
  readonly key: NexoKey | null;
  readonly nonce: Buffer;
  /** The answer to an earlier request; null: there is none. */
  readonly stale: NexoMessage | null;
}

/** Returns an answer as an armed fault makes it; undefined: no such fault is armed. */
export function damaged(parts: NexoParts, right: Right): string | undefined {
  const { message, key, nonce, stale } = right;
  const { header, root } = message;
  const text = (): string => writeMessage(message, key, nonce);
  if (parts.fault("clear-answer")) return writeMessage(message, null, nonce);
  if (parts.fault("wrong-key")) {
    const other = nexoKey(key?.identifier ?? "other", key?.version ?? 1, "another phrase");
    return writeMessage(message, other, nonce);
  }
  if (parts.fault("changed")) return changedMembers(text(), root, flippedBit);
  if (parts.fault("other-header")) {
    const other = { ...header, SaleID: `${header.SaleID}x` };
    return changedMembers(text(), root, (members) => ({ ...members, MessageHeader: other }));
  }
  if (parts.fault("stale-answer") && stale) return writeMessage(stale, key, nonce);
  if (parts.fault("no-body")) {
    return JSON.stringify({ [root]: { MessageHeader: header, SecurityTrailer: null } });
  }
  if (parts.fault("reject-event")) return writeMessage(rejected(message), null, nonce);
  if (parts.fault("json-additional")) {
    return writeMessage({ ...message, body: withJson(message.body) }, key, nonce);
  }
  return undefined;
}

type Members = Readonly<Record<string, unknown>>;

function changedMembers(text: string, root: string, change: (members: Members) => object): string {
  const whole = JSON.parse(text) as Record<string, Members>;
  return JSON.stringify({ [root]: change(whole[root] ?? {}) });
}

function flippedBit(members: Members): object {
  const { NexoBlob: blob } = members;
  if (typeof blob !== "string") return { ...members, PaymentResponse: {} };
  const bytes = Buffer.from(blob, "base64");
  bytes.writeUInt8(bytes.readUInt8(0) ^ 1, 0);
  return { ...members, NexoBlob: bytes.toString("base64") };
}

/** The event that a terminal sends in place of an answer (docs/nexo.md 9.3). */
function rejected({ header }: NexoMessage): NexoMessage {
  const { ServiceID: _, ...own } = header;
  return {
    root: "SaleToPOIRequest",
    header: {
      ...own,
      MessageClass: "Event",
      MessageCategory: "Event",
      MessageType: "Notification",
      SaleID: "N/A",
    },
    name: "EventNotification",
    body: {
      EventToNotify: "Reject",
      EventDetails: "message=Input+is+not+a+JSONObject",
      RejectedMessage: "",
    },
  };
}

/** Writes the additional data as some accounts have them: base64 of a JSON object. */
function withJson(body: unknown): object {
  const { Response, ...others } = body as { Response: { AdditionalResponse?: string } };
  const pairs = Object.fromEntries(new URLSearchParams(Response.AdditionalResponse ?? ""));
  const json = Buffer.from(JSON.stringify({ additionalData: pairs })).toString("base64");
  return { ...others, Response: { ...Response, AdditionalResponse: json } };
}

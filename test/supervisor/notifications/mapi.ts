import { createHash } from "node:crypto";
import type { DigestSecret } from "../../../src/supervisor/notifications/mapi-notification.ts";
import { PASSWORD } from "../gateway-password.ts";

export const secrets: readonly DigestSecret[] = [{ setting: "GATEWAY_PWD", value: PASSWORD }];

export const PUBLIC_ID = "5CF62325CB217655";

export type Fields = Readonly<Record<string, string>>;

/** A result element as the gateway writes it (docs/gateway.md 3.1). */
export function resultOf(fields: Fields = {}): string {
  const all: Record<string, string> = {
    operation: "capture",
    status: "ok",
    date: "2026-01-15",
    time: "12:00:03 UTC+0000",
    origAmount: "8.99",
    origCurrency: "EUR",
    idForMerchant: "A-1",
    emailClient: "",
    transid: PUBLIC_ID,
    is3ds: "No",
    paymentMethod: "VISA",
    ...fields,
  };
  const children = Object.entries(all).map(([name, value]) =>
    value === "" ? `<${name}/>` : `<${name}>${value}</${name}>`,
  );
  return `<result>${children.join("")}</result>`;
}

export function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}

/** The whole document around a result. */
export function mapiOf(result: string, digest = md5(result + PASSWORD)): string {
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n<mapi><mapiversion>1.0</mapiversion>' +
    `<md5content>${digest}</md5content>${result}</mapi>\n`
  );
}

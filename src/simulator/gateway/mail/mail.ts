import type { ResultFields } from "../notifications/mapi-document.ts";

/** The mail to `emailCallback` about an operation. The real form is not public; this is ours. */

export interface Mail {
  readonly to: readonly string[];
  /** ISO 8601. */
  readonly writtenAt: string;
  /** Header and body, lines end with CR LF, every byte is ASCII. */
  readonly text: string;
}

export const MAIL_FROM = "gateway-sandbox@localhost";

/** The receivers of `emailCallback`: addresses that a header and SMTP can carry as they are. */
export function mailAddresses(emailCallback: string): readonly string[] {
  const addresses = emailCallback.split(/[,;]/).map((address) => address.trim());
  return addresses
    .filter((address) => /^[^\s@<>()"\\]+@[^\s@<>()"\\]+$/.test(address))
    .filter((address) => /^[\x21-\x7e]+$/.test(address));
}

interface Letter {
  readonly to: readonly string[];
  readonly subject: string;
  readonly messageId: string;
  readonly nowMs: number;
  readonly fields: ResultFields;
}

export function mailText({ to, subject, messageId, nowMs, fields }: Letter): string {
  const lines = fields.flatMap(([name, value]) =>
    typeof value === "string"
      ? [`${name}: ${value}`]
      : value.map((item) => `_aKey_${item.key}: ${item.value}`),
  );
  return [
    `From: ${MAIL_FROM}`,
    `To: ${to.join(", ")}`,
    `Subject: ${subject}`,
    `Date: ${new Date(nowMs).toUTCString().replace("GMT", "+0000")}`,
    `Message-ID: <${messageId}@gateway-sandbox>`,
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    ...lines.map(quotedPrintable),
    "",
  ].join("\r\n");
}

const LINE_MAX = 76;

/** RFC 2045, 6.7: one line, folded; line feeds inside a value become part of its text. */
function quotedPrintable(line: string): string {
  const last = Buffer.byteLength(line) - 1;
  const pieces = [...Buffer.from(line)].map((byte, i) => {
    const plain = (byte > 32 && byte < 127 && byte !== 61) || (byte === 32 && i < last);
    return plain
      ? String.fromCharCode(byte)
      : `=${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  });
  const lines = [""];
  for (const piece of pieces) {
    const longer = `${lines.at(-1)}${piece}`;
    // A folded line ends with an equals sign of its own.
    if (longer.length < LINE_MAX) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines.join("=\r\n");
}

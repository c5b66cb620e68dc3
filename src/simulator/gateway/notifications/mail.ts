import { appendFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { PORT_MAX } from "../../../shared/config/config-field.ts";
import { ValueError, whole } from "../../switch-table.ts";
import type { ResultFields } from "./mapi-document.ts";
import type { Attempt } from "./notification-store.ts";

/** The receiver of mails: a file in mbox form, to which they are added, or a local mail server. */
export type MailTarget =
  | { readonly file: string }
  | { readonly host: string; readonly port: number };

/** Reads the value of `--mail`. Throws {@link ValueError} for a server on another machine. */
export function parseMailTarget(text: string): MailTarget {
  if (!/^smtp:/i.test(text)) return { file: text };
  const [, host = "", port = ""] = /^smtp:\/\/(\[::1\]|[^:/]+):(\d+)$/i.exec(text) ?? [];
  if (!/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i.test(host)) {
    throw new ValueError(
      "right would be a file, or smtp://127.0.0.1:25 with a host of this machine",
    );
  }
  return { host: host.replace(/[[\]]/g, ""), port: whole(port, 1, PORT_MAX) };
}

/** Returns an entry of a mailbox file (RFC 4155); lines that begin with "From " are quoted. */
function mboxEntry({ writtenAt, text }: Mail): string {
  const [day = "", date = "", month = "", year = "", time = ""] = new Date(writtenAt)
    .toUTCString()
    .split(/,? /);
  const quoted = text.replaceAll("\r\n", "\n").replace(/^(>*From )/gm, ">$1");
  return `From gateway-sandbox ${day} ${month} ${date} ${time} ${year}\n${quoted}\n`;
}

interface Mail {
  readonly to: readonly string[];
  /** The time of the mail, ISO 8601. */
  readonly writtenAt: string;
  /** The header and the body in ASCII; lines end with CR LF. */
  readonly text: string;
}

const MAIL_FROM = "gateway-sandbox@localhost";

/** Returns the addresses in `emailCallback` that a mail header and SMTP can carry unchanged. */
export function mailAddresses(emailCallback: string): readonly string[] {
  const addresses = emailCallback.split(/[,;]/).map((address) => address.trim());
  return addresses
    .filter((address) => /^[^\s@<>()"\\]+@[^\s@<>()"\\]+$/.test(address))
    .filter((address) => /^[\x21-\x7e]+$/.test(address));
}

/** The content of a mail, which is invented, because the form of the real mails is not public. */
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

/** Returns one line in quoted-printable (RFC 2045, 6.7), folded, with line feeds encoded. */
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
    // The equals sign at the end of a folded line counts towards the length of the line.
    if (longer.length < LINE_MAX) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines.join("=\r\n");
}

/** The most characters that a mail server may send for one mail; a longer answer is an error. */
const REPLY_CHARACTERS_MAX = 64 * 1024;

interface Reply {
  readonly code: number;
  readonly answer: string;
}

class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: number;

  constructor({ code, answer }: Reply) {
    super(`SMTP ${answer}`);
    this.code = code;
  }
}

/**
 * Writes a mail to a file, or sends it to a server over a plain connection (RFC 5321). The mail
 * counts as sent when the server accepts one receiver; a reply from 500 on refuses the mail for
 * ever. Rejects if the file cannot be written, the connection fails, or the peer is no mail server.
 */
export async function deliverMail(
  target: MailTarget,
  mail: Mail,
  signal: AbortSignal,
): Promise<Attempt> {
  if ("file" in target) {
    await appendFile(target.file, mboxEntry(mail), { mode: 0o600 });
    return { verdict: "taken", answer: `written to ${target.file}` };
  }
  const socket = connect({ ...target, signal });
  socket.setEncoding("utf8");
  try {
    return { verdict: "taken", answer: `SMTP ${await converse(socket, mail)}` };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { verdict: error.code >= 500 ? "refused" : "again", answer: error.message };
  } finally {
    socket.destroy();
  }
}

/** Sends a mail and returns the server's answer. Throws {@link Refusal}. */
async function converse(socket: Socket, { to, text }: Mail): Promise<string> {
  const replies = repliesOf(socket);
  const next = async (): Promise<Reply> => {
    const { value, done } = await replies.next();
    if (done) throw new Error("the mail server closed the connection before the mail was accepted");
    return value;
  };
  const say = (line: string): Promise<Reply> => {
    socket.write(`${line}\r\n`);
    return next();
  };
  wanted(await next(), 220);
  const extended = await say("EHLO localhost");
  wanted(extended.code >= 500 ? await say("HELO localhost") : extended, 250);
  wanted(await say(`MAIL FROM:<${MAIL_FROM}>`), 250);
  const refused: Reply[] = [];
  for (const address of to) {
    const reply = await say(`RCPT TO:<${address}>`);
    if (reply.code !== 250 && reply.code !== 251) refused.push(reply);
  }
  if (refused[0] && refused.length === to.length) throw new Refusal(refused[0]);
  wanted(await say("DATA"), 354);
  // A line that begins with a dot gets a second dot, because a lone dot ends the mail.
  const { answer } = wanted(await say(`${text.replace(/^\./gm, "..")}.`), 250);
  // The server has accepted the mail already, so the server's answer to QUIT does not matter.
  await say("QUIT").catch(() => undefined);
  return [answer, ...refused.map((reply) => `refused: ${reply.answer}`)].join("; ");
}

function wanted(reply: Reply, code: number): Reply {
  if (reply.code !== code) throw new Refusal(reply);
  return reply;
}

async function* repliesOf(socket: Socket): AsyncGenerator<Reply, undefined> {
  let [unread, characters] = ["", 0];
  for await (const chunk of socket) {
    unread += chunk;
    characters += String(chunk).length;
    if (characters > REPLY_CHARACTERS_MAX) throw new Error("the mail server's replies are endless");
    const lines = unread.split("\n");
    unread = lines.pop() ?? "";
    for (const line of lines.map((one) => one.trimEnd())) {
      const [, code, more] = /^(\d{3})(-?)/.exec(line) ?? [];
      if (code === undefined) throw new Error(`the server speaks no SMTP: ${line.slice(0, 80)}`);
      if (more !== "-") yield { code: Number(code), answer: line };
    }
  }
}

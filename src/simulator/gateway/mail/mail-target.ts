import { appendFile } from "node:fs/promises";
import { ValueError, whole } from "../../switch-table.ts";
import type { Attempt } from "../notifications/retry-policy.ts";
import type { Mail } from "./mail.ts";
import { handOverBySmtp } from "./smtp.ts";

/** Where mails go: the end of a file in mbox form, or a mail server on this machine. */
export type MailTarget =
  | { readonly file: string }
  | { readonly host: string; readonly port: number };

const PORT_MAX = 65_535;

/** Reads the value of `--mail`. Throws {@link ValueError}. */
export function parseMailTarget(text: string): MailTarget {
  if (!/^smtp:/i.test(text)) return { file: text };
  const [, host = "", port = ""] = /^smtp:\/\/(\[::1\]|[^:/]+):(\d+)$/i.exec(text) ?? [];
  // No mail of a stand-in may ever reach a stranger.
  if (!/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i.test(host)) {
    throw new ValueError(
      "right would be a file, or smtp://127.0.0.1:25 with a host of this machine",
    );
  }
  return { host: host.replace(/[[\]]/g, ""), port: whole(port, 1, PORT_MAX) };
}

export async function handOver(
  target: MailTarget,
  mail: Mail,
  signal: AbortSignal,
): Promise<Attempt> {
  if (!("file" in target)) return handOverBySmtp(target, mail, signal);
  await appendFile(target.file, mboxEntry(mail), { mode: 0o600 });
  return { verdict: "taken", words: `written to ${target.file}` };
}

/** RFC 4155, with the quoting of lines that would look like the next mail. */
function mboxEntry({ writtenAt, text }: Mail): string {
  const [day = "", date = "", month = "", year = "", time = ""] = new Date(writtenAt)
    .toUTCString()
    .split(/,? /);
  const quoted = text.replaceAll("\r\n", "\n").replace(/^(>*From )/gm, ">$1");
  return `From gateway-sandbox ${day} ${month} ${date} ${time} ${year}\n${quoted}\n`;
}

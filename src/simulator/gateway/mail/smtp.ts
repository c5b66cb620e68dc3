import { connect, type Socket } from "node:net";
import type { Attempt } from "../notifications/retry-policy.ts";
import { MAIL_FROM, type Mail } from "./mail.ts";

/** A mail server that says more than this in one conversation is none. */
const REPLY_CHARACTERS_MAX = 64 * 1024;

interface Reply {
  readonly code: number;
  /** Its last line. */
  readonly words: string;
}

/** A reply that ends the conversation before the mail was taken. */
class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: number;

  constructor({ code, words }: Reply) {
    super(`SMTP ${words}`);
    this.code = code;
  }
}

/**
 * Hands a mail to a server over a plain connection (RFC 5321). The mail is taken when one receiver
 * is; a refusal for ever begins with 5. Rejects for connections that fail and for what is no SMTP.
 */
export async function handOverBySmtp(
  { host, port }: { readonly host: string; readonly port: number },
  mail: Mail,
  signal: AbortSignal,
): Promise<Attempt> {
  const socket = connect({ host, port, signal });
  socket.setEncoding("utf8");
  try {
    return { verdict: "taken", words: `SMTP ${await converse(socket, mail)}` };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { verdict: error.code >= 500 ? "refused" : "again", words: error.message };
  } finally {
    socket.destroy();
  }
}

/** The words of the server for the mail that it has taken. */
async function converse(socket: Socket, { to, text }: Mail): Promise<string> {
  const replies = repliesOf(socket);
  const next = async (): Promise<Reply> => {
    const { value, done } = await replies.next();
    if (done) throw new Error("the mail server ended the conversation");
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
  // A line that begins with a dot gets another one, so that a lone dot is the end alone.
  const { words } = wanted(await say(`${text.replace(/^\./gm, "..")}.`), 250);
  // The mail is the server's now, however the farewell goes.
  await say("QUIT").catch(() => undefined);
  return [words, ...refused.map((reply) => `refused: ${reply.words}`)].join("; ");
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
    if (characters > REPLY_CHARACTERS_MAX) throw new Error("the mail server does not stop talking");
    const lines = unread.split("\n");
    unread = lines.pop() ?? "";
    for (const line of lines.map((one) => one.trimEnd())) {
      const [, code, more] = /^(\d{3})(-?)/.exec(line) ?? [];
      if (code === undefined) throw new Error(`not a mail server: ${line.slice(0, 80)}`);
      if (more !== "-") yield { code: Number(code), words: line };
    }
  }
}

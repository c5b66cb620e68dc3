import { once } from "node:events";
import { connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { readCommonName } from "../../../nexo/index.ts";
import { httpRequest, readText } from "../../../shared/process/node-http.ts";
import type { Clock } from "../../../shared/time.ts";
import { connectionProblem } from "./advice.ts";

/** Where the terminal is, and which certificate proves that it is the terminal. */
export interface TerminalAddress {
  readonly host: string;
  readonly port: number;
  /** The roots of the terminals' maker, in PEM form; no other root is trusted. */
  readonly roots: readonly string[];
  readonly environment: "test" | "live";
  readonly serialNumber: string;
}

/** What became of a request. Only "answered" says that the terminal has read it. */
export type Posted =
  | {
      readonly posted: "answered";
      readonly status: number;
      readonly text: string;
      /** Whether the certificate names our terminal; otherwise only one of the same maker. */
      readonly isNamed: boolean;
    }
  /** No byte of the request was sent. */
  | { readonly posted: "not-sent"; readonly problem: string }
  | { readonly posted: "lost"; readonly problem: string };

interface PostLimits {
  readonly clock: Clock;
  readonly answerMs: number;
  /** Ends the request as "not-sent" as long as no byte was sent; later it has no effect. */
  readonly withdrawal?: AbortSignal | undefined;
  /** Ends the request at any time. */
  readonly signal: AbortSignal;
  /** Called immediately before the first byte of the request is sent. */
  readonly onSending?: (() => void) | undefined;
}

const CONNECT_MS = 5_000;
/** So that a terminal that restarted, or a pulled cable, is noticed while an answer is awaited. */
const KEEP_ALIVE_MS = 10_000;
/** With the slash with which the maker's own libraries send it. */
const PATH = "/nexo/";
/** The longest answer, with two receipts, has some ten thousand bytes. */
const ANSWER_BYTES_MAX = 1024 * 1024;

/**
 * Sends one request on a connection of its own (docs/nexo.md 2.1). The connection is encrypted, and
 * the terminal has proved its name, before HTTP gets it: what fails earlier was not sent.
 */
export async function post(to: TerminalAddress, body: string, limits: PostLimits): Promise<Posted> {
  const { signal, withdrawal = signal } = limits;
  const ended = AbortSignal.any([signal, withdrawal]);
  let socket: TLSSocket;
  try {
    socket = await securedSocket(to, limits.clock, ended);
  } catch (error) {
    return { posted: "not-sent", problem: connectionProblem(error as Error) };
  }
  try {
    if (ended.aborted) return { posted: "not-sent", problem: "it was withdrawn" };
    limits.onSending?.();
    return await answerOn(socket, to, body, limits);
  } finally {
    socket.destroy();
  }
}

async function securedSocket(to: TerminalAddress, clock: Clock, ended: AbortSignal) {
  ended.throwIfAborted();
  const late = new AbortController();
  const problem = `${to.host}:${to.port} did not answer`;
  const timer = clock.startTimer("tls connect", CONNECT_MS, () => late.abort(new Error(problem)));
  const over = AbortSignal.any([ended, late.signal]);
  const { host, port, roots: ca } = to;
  const checkServerIdentity = (_host: string, peer: PeerCertificate) => nameFault(peer, to);
  const socket = connect({
    host,
    port,
    ca: [...ca],
    minVersion: "TLSv1.2",
    checkServerIdentity,
    // Without this, NODE_TLS_REJECT_UNAUTHORIZED=0 would switch off chain and name check.
    rejectUnauthorized: true,
  });
  // A destroyed socket may still emit an error, which without a listener ends the process.
  socket.on("error", () => {});
  try {
    await once(socket, "secureConnect", { signal: over });
    return socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
  } catch (error) {
    socket.destroy();
    throw over.aborted ? over.reason : error;
  } finally {
    timer.clear();
  }
}

/** Returns why a certificate is not that of our terminal; undefined: it is (docs/nexo.md 2.2). */
function nameFault({ subject }: PeerCertificate, to: TerminalAddress): Error | undefined {
  const name = commonNameOf(subject);
  const read = readCommonName(name, to.environment);
  const quoted = JSON.stringify(name.slice(0, 80));
  const { environment } = to;
  const noKind = `is of no ${environment} terminal: compare NEXO_ENVIRONMENT`;
  if (!read) return new Error(`the certificate ${quoted} ${noKind}`);
  const isAnother =
    read.of === "terminal" && read.serial.toUpperCase() !== to.serialNumber.toUpperCase();
  const other = "is of another terminal: compare NEXO_POIID and SERIAL_PORT";
  return isAnother ? new Error(`the certificate ${quoted} ${other}`) : undefined;
}

function commonNameOf(subject: PeerCertificate["subject"] | undefined): string {
  return [subject?.CN ?? ""].flat()[0] ?? "";
}

async function answerOn(
  socket: TLSSocket,
  { host, port, environment }: TerminalAddress,
  body: string,
  { clock, answerMs, signal }: PostLimits,
): Promise<Posted> {
  const { promise, resolve } = Promise.withResolvers<Posted>();
  const name = commonNameOf(socket.getPeerCertificate().subject);
  const isNamed = readCommonName(name, environment)?.of === "terminal";
  const request = httpRequest({
    createConnection: () => socket,
    method: "POST",
    path: PATH,
    headers: {
      host: `${host.includes(":") ? `[${host}]` : host}:${port}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      connection: "close",
    },
  });
  const lost = (problem: string): void => resolve({ posted: "lost", problem });
  request.on("error", ({ message }) =>
    lost(message === "socket hang up" ? "the connection closed before the answer" : message),
  );
  request.on("response", (response) => {
    const tooLong = (): void => lost("the answer is too long");
    readText(response, ANSWER_BYTES_MAX, tooLong).then(
      (text) => {
        const status = response.statusCode ?? 0;
        resolve({ posted: "answered", status, text: text ?? "", isNamed });
      },
      ({ message }: Error) => lost(message),
    );
  });
  const seconds = Math.round(answerMs / 1_000);
  const timer = clock.startTimer("terminal's answer", answerMs, () =>
    lost(`the terminal sent no answer in ${seconds} s`),
  );
  const onAbort = (): void => lost("the connection was closed here");
  signal.addEventListener("abort", onAbort, { once: true });
  request.end(body);
  try {
    return await promise;
  } finally {
    timer.clear();
    signal.removeEventListener("abort", onAbort);
    request.destroy();
  }
}

import { createHash, getHashes } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  createReadStream,
  fsyncSync,
  ftruncateSync,
  openSync,
  writeSync,
} from "node:fs";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { basename, dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { getCACertificates } from "node:tls";
import type { TargetFile } from "@tufjs/models";
import { isLoopback } from "../shared/config/config-field.ts";
import { ProxyAgent, type ProxyChoice } from "../shared/config/proxy.ts";
import { httpRequest } from "../shared/process/node-http.ts";
import type { Clock, Timer } from "../shared/time.ts";
import { makeFolder, removeWhole, renameSynced, sizeOf } from "./durable-files.ts";
import { UpdateError } from "./errors.ts";
import { openFolderFile } from "./folder-source.ts";

export interface WebSettings {
  /** The trusted certificates in PEM (`UPDATE_CA_FILE`); none: those built into Node.js. */
  readonly ca?: string[] | undefined;
  /** Missing: no proxy is used. */
  readonly proxyFor?: ProxyChoice | undefined;
  readonly clock: Clock;
  /** The address of a folder (`file:`) that is read in place of a web server. */
  readonly medium?: string | undefined;
  /** Aborts a read; a later download continues where the read ended. */
  readonly signal?: AbortSignal | undefined;
  /** The time limit in ms for an answer to begin, then for every `WINDOW_BYTES_MIN` bytes of it. */
  readonly windowMs?: number;
}

const WINDOW_MS = 30_000;
/** The fewest bytes in `windowMs`: a slow mobile line brings more, a server that hangs does not. */
const WINDOW_BYTES_MIN = 4096;

interface Reading {
  /** The most bytes of a file; a file whose length or content is longer is refused. */
  readonly lengthMax: number;
  /** The number of bytes already stored; the server can send the rest or the whole file. */
  readonly from?: number;
  /** The time limit in ms for the whole answer. */
  readonly deadlineMs?: number;
}

/** Reads a small file completely from its source, with the checks of {@link openWebFile}. */
export async function readWebFile(settings: WebSettings, url: string, reading: Reading) {
  return buffer((await openFile(settings, url, reading)).body);
}

function openFile(settings: WebSettings, url: string, reading: Reading) {
  const { medium, signal } = settings;
  if (medium === undefined) return openWebFile(settings, url, reading);
  return openFolderFile(medium, url, { ...reading, signal });
}

/**
 * Requests a file from a static web server (docs/updates.md 2.4). A redirect is refused, because it
 * leads to a server that nobody has configured. Every failure closes the connection. `offset`: the
 * byte of the file at which the body begins; 0: the server sends the whole file. `hasLength`:
 * whether the server gave a length; without it the body can also end because the line broke. The
 * end of `body`, or a `break` out of it, closes the connection.
 */
async function openWebFile(settings: WebSettings, url: string, reading: Reading) {
  const { from = 0, lengthMax, deadlineMs } = reading;
  const { signal } = settings;
  const address = allowedAddress(url);
  const { agent, ca, via } = wayTo(address, settings);
  const send = address.protocol === "https:" ? httpsRequest : httpRequest;
  const range = from > 0 && { range: `bytes=${from}-` };
  const headers = { "accept-encoding": "identity", ...range };
  const request = send(address, {
    agent: agent ?? false,
    headers,
    ...(ca.length > 0 && { ca }),
    ...(signal && { signal }),
  });
  const giveUp = (fault?: Error): void => {
    // While the proxy opens the tunnel, the request has no connection that it could end.
    agent?.destroy();
    request.destroy(fault);
  };
  if (agent) signal?.addEventListener("abort", () => agent.destroy(), { once: true });
  // After the answer has begun, the body throws each error, so errors of the request are ignored.
  request.on("error", () => undefined);
  const watch = watchOver(giveUp, address, settings, deadlineMs);
  try {
    const [response] = (await once(request.end(), "response")) as [IncomingMessage];
    const offset = offsetOf(response, address, from);
    const length = response.headers["content-length"];
    if (offset + Number(length ?? 0) > lengthMax) throw tooLong(address, lengthMax);
    const body = bodyOf(giveUp, response, watch, address, lengthMax - offset);
    return { offset, hasLength: length !== undefined, body };
  } catch (error) {
    watch.end();
    giveUp();
    signal?.throwIfAborted();
    throw asUpdateError(watch.fault ?? error, address, via);
  }
}

/** Returns the proxy's agent, the trusted certificates, and the name of the proxy for people. */
function wayTo(address: URL, { ca = [], proxyFor }: WebSettings) {
  try {
    const proxy = proxyFor?.(address.href);
    if (!proxy) return { agent: undefined, ca, via: "" };
    const agent = new ProxyAgent({ proxyEnv: proxy.proxyEnv });
    const known = ca.length > 0 ? ca : getCACertificates("default");
    const via = ` through the proxy ${proxy.name}`;
    return { agent, ca: [...known, ...proxy.certificates], via };
  } catch (error) {
    throw asUpdateError(error, address);
  }
}

/** Returns the address if it is https, or http to this machine. Throws for any other address. */
export function allowedAddress(url: string): URL {
  const address = URL.parse(url);
  if (address?.protocol === "https:") return address;
  if (address?.protocol === "http:" && isLoopback(address.hostname)) return address;
  throw new UpdateError("address", `${url} is not asked: https, or http on this machine only`);
}

/** Ends a request whose answer stalls, or is incomplete at its deadline. */
function watchOver(
  end: (fault: Error) => void,
  address: URL,
  { clock, windowMs = WINDOW_MS }: WebSettings,
  deadlineMs: number | undefined,
) {
  const timers: { window?: Timer; deadline?: Timer } = {};
  const watch = {
    bytes: 0,
    /** Why a request was ended here; the connection itself reports no reason. */
    fault: undefined as UpdateError | undefined,
    end(): void {
      timers.window?.clear();
      timers.deadline?.clear();
    },
  };
  const giveUp = (reason: string): void => {
    watch.end();
    watch.fault = new UpdateError("too-slow", `${address.href} ${reason}`);
    end(watch.fault);
  };
  const openWindow = (): void => {
    const before = watch.bytes;
    timers.window = clock.startTimer("update window", windowMs, () => {
      const came = watch.bytes - before;
      if (came >= WINDOW_BYTES_MIN) openWindow();
      else giveUp(`brought ${came} bytes in ${windowMs / 1000} s`);
    });
  };
  openWindow();
  if (deadlineMs !== undefined) {
    timers.deadline = clock.startTimer("update deadline", deadlineMs, () =>
      giveUp(`is not there after ${deadlineMs / 1000} s`),
    );
  }
  return watch;
}

function offsetOf(response: IncomingMessage, address: URL, from: number): number {
  const { statusCode: status = 0, headers } = response;
  if (status >= 300 && status < 400) {
    throw new UpdateError("redirected", `${address.href} leads elsewhere (${status}): refused`);
  }
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") {
    throw new UpdateError("http-status", `${address.href} came encoded (${encoding}): refused`);
  }
  if (status === 200) return 0;
  if (status === 206 && from > 0) {
    const [, begin] = /^bytes (\d+)-/.exec(headers["content-range"] ?? "") ?? [];
    if (Number(begin) === from) return from;
  }
  throw new UpdateError("http-status", `${address.href} was answered with ${status}`, { status });
}

function tooLong(address: URL, lengthMax: number): UpdateError {
  return new UpdateError("too-long", `${address.href} is longer than ${lengthMax} bytes: refused`);
}

/** Yields the chunks of a body. Throws when the body has more than `bytesMax` bytes. */
async function* bodyOf(
  giveUp: () => void,
  response: IncomingMessage,
  watch: ReturnType<typeof watchOver>,
  address: URL,
  bytesMax: number,
) {
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      watch.bytes += chunk.length;
      if (watch.bytes > bytesMax) throw tooLong(address, bytesMax);
      yield chunk;
    }
    if (!response.complete) throw new UpdateError("unreachable", `${address.href} broke off`);
  } catch (error) {
    throw asUpdateError(watch.fault ?? error, address);
  } finally {
    watch.end();
    giveUp();
  }
}

/** Returns an error as an UpdateError, but unchanged if the caller's signal has aborted. */
function asUpdateError(error: unknown, address: URL, via = ""): unknown {
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (error instanceof UpdateError || name === "AbortError") return error;
  const why = code === "ERR_PROXY_TUNNEL" ? message : (code ?? message);
  const text = `${address.href} cannot be read${via}: ${why}`;
  return new UpdateError("unreachable", text, { cause: error });
}

interface Download {
  readonly web: WebSettings;
  readonly url: string;
  /** The path of the file, which exists only if it is complete and verified. */
  readonly file: string;
  /** The length and the hashes of the file in the signed metadata. */
  readonly target: Pick<TargetFile, "path" | "length" | "hashes">;
}

/** The most attempts of one download on lines that break; the next download continues the file. */
const ATTEMPTS_MAX = 5;

/**
 * Downloads a target, unless the verified file exists (docs/updates.md 2.3). If the line breaks,
 * the bytes that came stay next to the file as a partial file and are continued later; a file whose
 * length or hash differs from the signed metadata is removed.
 */
export async function downloadTarget(download: Download): Promise<void> {
  const { file, target } = download;
  if (sizeOf(file) === target.length && (await faultOf(file, target)) === undefined) return;
  makeFolder(dirname(file));
  const part = join(dirname(file), `.${basename(file)}.part`);
  if (sizeOf(part) > target.length) removeWhole(part);
  const hadPart = sizeOf(part) > 0;
  await completePart(download, part);
  const fault = await faultOf(part, target);
  if (fault === undefined) return renameSynced(part, file);
  removeWhole(part);
  // The partial file of an earlier download can be wrong, so the whole file is downloaded again.
  if (!hadPart) throw fault;
  await downloadTarget(download);
}

async function completePart(download: Download, part: string): Promise<void> {
  for (let attempt = 1; sizeOf(part) < download.target.length || attempt === 1; attempt++) {
    const before = sizeOf(part);
    try {
      await readOn(download, part, before);
    } catch (error) {
      const { code } = error as UpdateError;
      if (code === "too-long" || code === "too-short") removeWhole(part);
      const isBroken = code === "unreachable" && sizeOf(part) > before;
      if (!isBroken || attempt >= ATTEMPTS_MAX) throw error;
    }
  }
}

/** Downloads the rest of a file into its partial file, which is then on disk. */
async function readOn({ web, url, target }: Download, part: string, from: number) {
  const handle = openSync(part, from > 0 ? "r+" : "w", 0o600);
  try {
    if (from === target.length) return;
    const reading = { from, lengthMax: target.length };
    const { offset, hasLength, body } = await openFile(web, url, reading);
    ftruncateSync(handle, offset);
    let at = offset;
    for await (const chunk of body) {
      writeSync(handle, chunk, 0, chunk.length, at);
      at += chunk.length;
    }
    if (at < target.length) {
      const text = `${target.path} ends after ${at} bytes of ${target.length}: refused`;
      throw new UpdateError(hasLength ? "too-short" : "unreachable", text);
    }
  } finally {
    fsyncSync(handle);
    closeSync(handle);
  }
}

/** Returns what is wrong with a file; undefined: the file has the signed length and hashes. */
async function faultOf(file: string, target: Download["target"]): Promise<UpdateError | undefined> {
  const size = sizeOf(file);
  if (size !== target.length) {
    const text = `${target.path} has ${size} bytes, signed are ${target.length}: refused`;
    return new UpdateError("too-short", text);
  }
  const known = Object.entries(target.hashes).filter(([name]) => getHashes().includes(name));
  if (known.length === 0) {
    return new UpdateError("wrong-hash", `${target.path} has no hash that is known here: refused`);
  }
  for (const [name, signed] of known) {
    const hash = createHash(name);
    await pipeline(createReadStream(file), hash);
    if (hash.digest("hex") === signed.toLowerCase()) continue;
    return new UpdateError("wrong-hash", `${target.path} has not the signed ${name}: refused`);
  }
  return undefined;
}

import type { ClientRequest, IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { httpRequest } from "../shared/process/node-http.ts";
import type { Clock, Timer } from "../shared/time.ts";
import { UpdateError } from "./errors.ts";

interface WebSourceSettings {
  /** PEM text that replaces the certificates of the system (`UPDATE_CA_FILE`). */
  readonly ca?: string | undefined;
  readonly clock: Clock;
  readonly limits?: Partial<WebLimits>;
}

interface WebLimits {
  /** In every such window `windowBytesMin` have to come; also the time for the answer to begin. */
  readonly windowMs: number;
  /** A slow mobile line brings more; a server that feeds byte by byte does not hold us long. */
  readonly windowBytesMin: number;
}

const limitsByDefault: WebLimits = { windowMs: 30_000, windowBytesMin: 4096 };

interface Reading {
  /** More bytes than this are refused, as soon as that many came or are announced. */
  readonly lengthMax: number;
  /** Bytes that are there already; the server may answer with the whole file all the same. */
  readonly from?: number;
  /** The whole answer has to be there by then. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal | undefined;
}

interface Answer {
  /** Where in the file the body begins: `from`, or 0 when the server sends all of it. */
  readonly offset: number;
  /** Whether the answer announced its length; if not, its end may be a broken line. */
  readonly isLengthTold: boolean;
  /** To be read to its end or left by `break`; both end the connection. */
  readonly body: AsyncIterable<Buffer>;
}

/**
 * Reads files from a static web server (docs/updates.md 2.4). Redirects are refused, since they
 * would lead to a server that nobody has configured; whatever fails ends the connection.
 */
export class WebSource {
  readonly #ca: string | undefined;
  readonly #clock: Clock;
  readonly #limits: WebLimits;

  constructor({ ca, clock, limits }: WebSourceSettings) {
    this.#ca = ca;
    this.#clock = clock;
    this.#limits = { ...limitsByDefault, ...limits };
  }

  /** A small file, whole. */
  async read(url: string, reading: Reading): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of (await this.open(url, reading)).body) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async open(url: string, reading: Reading): Promise<Answer> {
    const { from = 0, lengthMax, signal } = reading;
    const address = allowedAddress(url);
    const send = address.protocol === "https:" ? httpsRequest : httpRequest;
    const request = send(address, {
      agent: false,
      headers: {
        "accept-encoding": "identity",
        ...(from > 0 ? { range: `bytes=${from}-` } : {}),
      },
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
      ...(signal ? { signal } : {}),
    });
    const watch = new Watch(request, this.#clock, this.#limits, address, reading.deadlineMs);
    try {
      const response = await answerOf(request);
      const offset = offsetOf(response, address, from);
      const told = lengthOf(response);
      if (told !== undefined && offset + told > lengthMax) throw tooLong(address, lengthMax);
      const body = bodyOf({ request, response, watch, address, left: lengthMax - offset });
      return { offset, isLengthTold: told !== undefined, body };
    } catch (error) {
      watch.end();
      request.destroy();
      throw asUpdateError(watch.fault ?? error, address);
    }
  }
}

/** Throws unless it is https, or http to this machine. */
export function allowedAddress(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(address?.hostname ?? "");
  if (address?.protocol === "https:" || (address?.protocol === "http:" && isLoopback)) {
    return address;
  }
  throw new UpdateError("address", `${url} is not asked: https, or http on this machine only`);
}

/** Ends a request whose answer stalls or takes longer than its deadline. */
class Watch {
  readonly #request: ClientRequest;
  readonly #clock: Clock;
  readonly #limits: WebLimits;
  readonly #address: URL;
  readonly #deadline: Timer | undefined;
  #window: Timer | undefined;
  #bytes = 0;
  /** Why the watch ended the request; the connection itself only tells that it is gone. */
  fault: UpdateError | undefined;

  constructor(
    request: ClientRequest,
    clock: Clock,
    limits: WebLimits,
    address: URL,
    deadlineMs: number | undefined,
  ) {
    this.#request = request;
    this.#clock = clock;
    this.#limits = limits;
    this.#address = address;
    this.#startWindow();
    if (deadlineMs === undefined) return;
    this.#deadline = clock.startTimer("update deadline", deadlineMs, () =>
      this.#giveUp(`is not there after ${deadlineMs / 1000} s`),
    );
  }

  came(bytes: number): void {
    this.#bytes += bytes;
  }

  end(): void {
    this.#window?.clear();
    this.#deadline?.clear();
  }

  #startWindow(): void {
    const { windowMs, windowBytesMin } = this.#limits;
    const before = this.#bytes;
    this.#window = this.#clock.startTimer("update window", windowMs, () => {
      const came = this.#bytes - before;
      if (came >= windowBytesMin) return this.#startWindow();
      this.#giveUp(`brought ${came} bytes in ${windowMs / 1000} s`);
    });
  }

  #giveUp(reason: string): void {
    this.end();
    this.fault = new UpdateError("too-slow", `${this.#address.href} ${reason}`);
    this.#request.destroy(this.fault);
  }
}

function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Stays for the whole life of the request: an error after the answer comes out of the body.
    request.on("error", reject);
    request.once("response", resolve);
    request.end();
  });
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

function lengthOf({ headers }: IncomingMessage): number | undefined {
  const told = headers["content-length"];
  return told === undefined ? undefined : Number(told);
}

function tooLong(address: URL, lengthMax: number): UpdateError {
  return new UpdateError("too-long", `${address.href} is longer than ${lengthMax} bytes: refused`);
}

interface OpenBody {
  readonly request: ClientRequest;
  readonly response: IncomingMessage;
  readonly watch: Watch;
  readonly address: URL;
  /** How many bytes may still come. */
  readonly left: number;
}

async function* bodyOf({ request, response, watch, address, left }: OpenBody) {
  let came = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      came += chunk.length;
      watch.came(chunk.length);
      if (came > left) throw tooLong(address, left);
      yield chunk;
    }
    if (!response.complete) throw new UpdateError("unreachable", `${address.href} broke off`);
  } catch (error) {
    throw asUpdateError(watch.fault ?? error, address);
  } finally {
    watch.end();
    request.destroy();
  }
}

/** A caller's own abort keeps its reason. */
function asUpdateError(error: unknown, address: URL): unknown {
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (error instanceof UpdateError || name === "AbortError") return error;
  const text = `${address.href} cannot be read: ${code ?? message}`;
  return new UpdateError("unreachable", text, { cause: error });
}

import { open } from "node:fs/promises";
import type { Config } from "../shared/config/config.ts";
import { metaOf } from "../shared/config/config-field.ts";
import { sharedFields } from "../shared/config/schema.ts";
import { maskPansInText } from "../shared/mask.ts";
import { type Clock, isoTime } from "../shared/time.ts";
import type { HttpTransport } from "./gateway/http-transport.ts";

/** Of each log: some hours of a busy kiosk. */
const LOG_BYTES = 200 * 1024;
const UPLOAD_LIMIT_MS = 60_000;

interface BundleParts {
  /** FLEET_UPLOAD_URL, with a / at its end. */
  readonly address: string;
  /** FLEET_ID. */
  readonly kiosk: string;
  readonly logFiles: readonly string[];
  readonly config: Config;
  /** Versions and states; masked like the logs. */
  readonly facts: () => object;
  readonly transport: Pick<HttpTransport, "send">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Sends what a person needs to help, once, to one file below the address (docs/fleet.md 6.2). A
 * redirect is a failure.
 */
export async function uploadSupportBundle(
  parts: BundleParts,
  requestId: string,
): Promise<"done" | "upload-failed"> {
  const { address, kiosk, transport, signal } = parts;
  const body = await supportBundle(parts);
  const url = `${address}${kiosk}-${requestId}.json`;
  const headers = { "content-type": "application/json; charset=utf-8" };
  const exchange = await transport.send({ url, headers, body }, UPLOAD_LIMIT_MS, signal);
  const isTaken =
    exchange.kind === "answered" && exchange.httpStatus >= 200 && exchange.httpStatus < 300;
  return isTaken ? "done" : "upload-failed";
}

async function supportBundle({
  kiosk,
  logFiles,
  config,
  facts,
  clock,
}: BundleParts): Promise<string> {
  const secrets = secretsOf(config);
  const logs: string[][] = [];
  for (const file of logFiles) {
    const lines = (await endOf(file)).split("\n").filter((line) => line !== "");
    logs.push(lines.map((line) => masked(line, secrets)));
  }
  const told = JSON.parse(masked(JSON.stringify(facts()), secrets)) as object;
  return JSON.stringify({ kiosk, at: isoTime(clock.now()), facts: told, logs });
}

/** Values that the setup file calls secret, the longest first. */
function secretsOf(config: Config): string[] {
  return Object.entries(sharedFields)
    .filter(([, field]) => metaOf(field).secret)
    .flatMap(([name]) => config[name as keyof Config] ?? [])
    .map(String)
    .filter(({ length }) => length >= 4)
    .sort((a, b) => b.length - a.length);
}

/** Card numbers, secrets of the setup file and mail addresses are removed. */
function masked(text: string, secrets: readonly string[]): string {
  const safe = secrets.reduce(
    (rest, secret) => rest.replaceAll(JSON.stringify(secret).slice(1, -1), "[removed]"),
    text,
  );
  return maskPansInText(safe).replace(/[^\s"'<>:,]{1,64}@[^\s"'<>:,]{1,255}/g, "[removed]");
}

/** The whole lines at the end of a file; none when there is no file. */
async function endOf(path: string): Promise<string> {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    const length = Math.min(size, LOG_BYTES);
    const bytes = Buffer.alloc(length);
    const { bytesRead } = await file.read(bytes, 0, length, size - length);
    const text = bytes.subarray(0, bytesRead).toString("utf8");
    return size > length ? text.slice(text.indexOf("\n") + 1) : text;
  } catch {
    return "";
  }
}

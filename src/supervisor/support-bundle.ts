import type { Config } from "../shared/config/config.ts";
import { sharedFields } from "../shared/config/schema.ts";
import { REMOVED, secretMask, secretsOf } from "../shared/config/secrets.ts";
import { maskPansInText } from "../shared/masking/mask.ts";
import { linesAtEnd } from "../shared/process/log-file.ts";
import { type Clock, isoTime } from "../shared/time.ts";
import type { HttpTransport } from "./gateway/http-transport.ts";

/** How much of the end of each log is uploaded: some hours of a busy kiosk. */
const LOG_BYTES = 200 * 1024;
const UPLOAD_LIMIT_MS = 60_000;

interface BundleParts {
  /** FLEET_UPLOAD_URL, with a / at its end. */
  readonly address: string;
  readonly kiosk: string;
  readonly logFiles: readonly string[];
  readonly config: Config;
  /** Reads versions and states, which the bundle holds masked like the logs. */
  readonly facts: () => object;
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Uploads a support bundle, once, as one file below FLEET_UPLOAD_URL (docs/fleet.md 6.2). */
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

async function supportBundle(parts: BundleParts): Promise<string> {
  const { kiosk, logFiles, config, facts, clock } = parts;
  const mask = masking(config);
  const logs: string[][] = [];
  for (const file of logFiles) {
    const lines = (await linesAtEnd(file, LOG_BYTES)).split("\n").filter((line) => line !== "");
    logs.push(lines.map((line) => maskedLine(line, mask)));
  }
  const masked = maskedValue(JSON.parse(JSON.stringify(facts())), mask);
  return JSON.stringify({ kiosk, at: isoTime(clock.now()), facts: masked, logs });
}

type Mask = (text: string) => string;

const mailAddress = /[^\s"'<>:,]{1,64}(?:@|%40)[^\s"'<>:,]{1,255}/g;
const httpLogin = /\b(Basic|Bearer|Digest)\s+[\w+/=.~-]{4,}/gi;

/** Returns a function that removes card numbers, secrets, HTTP logins and mail addresses. */
function masking(config: Config): Mask {
  const settings = Object.keys(sharedFields).map((name) => ({
    name,
    value: [config[name as keyof Config] ?? []].flat().join(" "),
  }));
  const mask = secretMask(secretsOf(settings, sharedFields));
  return (text) => mask(text).replace(httpLogin, `$1 ${REMOVED}`).replace(mailAddress, REMOVED);
}

function maskedLine(line: string, mask: Mask): string {
  // Card numbers are masked before the JSON is parsed, because parsing rounds long numbers.
  const safe = maskPansInText(line);
  try {
    return JSON.stringify(maskedValue(JSON.parse(safe), mask));
  } catch {
    return mask(safe);
  }
}

/** Masks each name, text and number of a JSON value separately, so that the value stays JSON. */
function maskedValue(value: unknown, mask: Mask): unknown {
  if (typeof value === "string") return mask(value);
  if (typeof value === "number") return mask(`${value}`) === `${value}` ? value : mask(`${value}`);
  if (Array.isArray(value)) return value.map((one) => maskedValue(one, mask));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([name, one]) => [mask(name), maskedValue(one, mask)]));
}

import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Finding, finding } from "../../shared/catalog/findings.ts";
import type { Config } from "../../shared/config/config.ts";
import { proxyChoice } from "../../shared/config/proxy.ts";
import { certificatesIn } from "../../shared/config/server-trust.ts";
import {
  type Publisher,
  publisherHere,
  supportOf,
  versionNumber,
} from "../../shared/program/installation.ts";
import { type Clock, isoTime } from "../../shared/time.ts";
import { isDelivery, versionFolder } from "../../shared/version-files.ts";
import { lackOfRoom, roomNeeded } from "../../update/disk-room.ts";
import { type Hold, readHold, readState } from "../../update/update-state.ts";
import { readWebFile } from "../../update/web-source.ts";
import type { CommandContext } from "../output.ts";

const ANSWER_WITHIN_MS = 10_000;
const BYTES_MAX = 64 * 1024;
/** How long before its end the end of support is a warning. */
const timestampSchema = z.object({ signed: z.object({ expires: z.iso.datetime() }) });

/** Returns findings about updates; an empty list in a checkout of the sources, which gets none. */
export async function checkUpdates(
  config: Config,
  { dataDirectory, clock }: CommandContext,
): Promise<Finding[]> {
  if (!isDelivery) return [];
  const { UPDATE_URL: url } = config;
  const folder = versionFolder(versionNumber);
  const support = [...checkRoot(folder), ...checkSupport(publisherHere(), clock.now())];
  if (url === undefined) return [finding("updates-not-asked", {}), ...support];
  const hold = readHold(dataDirectory, clock.now());
  return [
    await checkServer(url, config, clock),
    ...checkExpiry(readState(dataDirectory).expiresMs, clock.now()),
    ...checkRoom(dataDirectory, folder),
    ...(hold ? [held(hold)] : []),
    ...support,
  ];
}

/** Shows the fingerprint of the root keys that a version came with (SECURITY.md). */
export function checkRoot(folder: string): Finding[] {
  const root = join(folder, "trusted-root.json");
  if (!existsSync(root)) return [];
  return [finding("root-keys", { fingerprint: hash("sha256", readFileSync(root)) })];
}

/** Checks how long the publisher supports the version; an older delivery does not say so. */
export function checkSupport(publisher: Publisher, nowMs: number): Finding[] {
  const { contact = "", testValues } = publisher;
  if (testValues) return [finding("support-test", {})];
  const support = supportOf(publisher);
  if (support === undefined) return [];
  const { until, endMs, warnedMs } = support;
  if (nowMs >= endMs) return [finding("support-ended", { until, contact })];
  return [finding(nowMs > warnedMs ? "support-ends" : "support-right", { until, contact })];
}

function held({ who, sinceMs, untilMs }: Hold): Finding {
  const values = { who, since: isoTime(sinceMs) };
  if (untilMs === null) return finding("updates-held-open", values);
  return finding("updates-held", { ...values, until: isoTime(untilMs) });
}

/** Checks by the unverified date in timestamp.json whether the publisher renews the metadata. */
export async function checkServer(url: string, settings: Partial<Config>, clock: Clock) {
  try {
    const proxyFor = proxyChoice(settings, process.env);
    const ca = certificatesIn("UPDATE_CA_FILE", settings.UPDATE_CA_FILE);
    const reading = { lengthMax: BYTES_MAX, deadlineMs: ANSWER_WITHIN_MS };
    const file = `${url.replace(/\/+$/, "")}/metadata/timestamp.json`;
    const bytes = await readWebFile({ clock, ca, proxyFor }, file, reading);
    const { expires } = timestampSchema.parse(JSON.parse(bytes.toString())).signed;
    if (Date.parse(expires) > clock.now()) return finding("updates-right", { url });
    return finding("updates-old", { url, at: expires });
  } catch (error) {
    const isOther = error instanceof SyntaxError || error instanceof z.ZodError;
    if (isOther) return finding("updates-none", { url });
    return finding("updates-silent", { detail: (error as Error).message });
  }
}

export function checkExpiry(expiresMs: number | null, nowMs: number): Finding[] {
  if (expiresMs === null || expiresMs > nowMs) return [];
  return [finding("updates-stored-old", { at: isoTime(expiresMs) })];
}

export function checkRoom(dataDirectory: string, folder: string, free?: number): Finding[] {
  const detail = lackOfRoom(dataDirectory, roomNeeded(dataDirectory, folder, 0), free);
  return detail === undefined ? [] : [finding("updates-no-room", { detail })];
}

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { conditionsOf, conditionText } from "../../src/shared/catalog/conditions.ts";
import type { Config } from "../../src/shared/config/config.ts";
import { selfSignedTls } from "../../src/simulator/gateway/http/self-signed.ts";
import { certificateEnds } from "../../src/supervisor/certificates.ts";
import { FleetFiles } from "../../src/supervisor/fleet-files.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

const DAY = 86_400_000;
/** Certificates of self-signed.ts last so long. */
const LASTS = 397 * DAY;

/** A file with certificates that end so many days from now. */
function fileOf(clock: TestClock, ...days: number[]): string {
  const file = join(temporaryFolder(), "certificates.pem");
  const made = days.map((day) => selfSignedTls(["localhost"], clock.now() + day * DAY - LASTS));
  writeFileSync(file, made.map(({ cert }) => cert).join(""));
  return file;
}

function endsOf(settings: Partial<Config>, clock: TestClock) {
  return certificateEnds(settings, new FleetFiles(settings, clock), clock);
}

test("a certificate is reported from 30 days before its end, and after it", async () => {
  const clock = new TestClock();
  const ends = endsOf({ FLEET_CERT_FILE: fileOf(clock, 31) }, clock);
  expect(ends()).toBeNull();
  await clock.advance(2 * DAY);
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const end = day(clock.now() + 29 * DAY);
  expect(ends()?.reason).toBe(`the certificate of FLEET_CERT_FILE ends on ${end}`);
  expect(day(ends()?.sinceMs ?? 0)).toBe(day(clock.now() - DAY));
  await clock.advance(30 * DAY);
  expect(ends()?.reason).toBe(`the certificate of FLEET_CERT_FILE ended on ${end}`);
});

test("of a chain the first end counts, of authorities the last; without a fleet none", () => {
  const clock = new TestClock();
  const [soon, both, late] = [fileOf(clock, 5), fileOf(clock, 5, 300), fileOf(clock, 300)];
  const reason = (settings: object) => endsOf(settings, clock)()?.reason ?? null;
  expect(reason({ FLEET_CERT_FILE: both })).toContain("FLEET_CERT_FILE");
  expect(reason({ FLEET_CA_FILE: both, GATEWAY_CA_FILE: late })).toBeNull();
  expect(reason({ FLEET_CA_FILE: soon, GATEWAY_CA_FILE: late })).toContain("FLEET_CA_FILE");
  expect(reason({ GATEWAY_CA_FILE: soon })).toContain("GATEWAY_CA_FILE");
  expect(reason({ PROXY_CA_FILE: soon })).toContain("PROXY_CA_FILE");
  expect(certificateEnds({ FLEET_CA_FILE: soon }, undefined, clock)()).toBeNull();
});

test("the end is a condition of the status, with its alarm and the doctor's line", () => {
  const clock = new TestClock();
  const certificates = endsOf({ FLEET_CA_FILE: fileOf(clock, 5) }, clock)();
  const outbox = { pending: 0, parked: 0, sent: 0, oldestAgeMs: null, paused: null };
  const supervisor = {
    program: "supervisor",
    version: "1.0.0",
    pid: 1,
    uptimeMs: 1,
    outbox,
    certificates,
  } as const;
  const [condition, ...others] = conditionsOf({ supervisor, tpManager: undefined });
  expect(others).toEqual([]);
  expect(condition?.row).toMatchObject({ alarm: "certificates-end", check: "certificates" });
  expect(condition && conditionText(condition)).toMatch(
    /FLEET_CA_FILE ends on .* -> Replace the certificate file/,
  );
});

test("new files are used within a minute, but no pair that does not belong together", async () => {
  const clock = new TestClock();
  const at = (name: string): string => join(temporaryFolder(), name);
  const [cert, keyFile, ca] = [at("fleet.pem"), at("fleet.key"), at("ca.pem")];
  const pair = (days: number) => selfSignedTls(["a"], clock.now() + days * DAY - LASTS);
  const [old, next] = [pair(5), pair(300)];
  writeFileSync(cert, String(old.cert));
  writeFileSync(keyFile, String(old.key));
  writeFileSync(ca, String(next.cert));
  const settings = { FLEET_CERT_FILE: cert, FLEET_KEY_FILE: keyFile, FLEET_CA_FILE: ca };
  const files = new FleetFiles(settings, clock);
  const ends = certificateEnds({}, files, clock);
  const { current: first } = files;
  expect(first).toMatchObject({ certificate: String(old.cert).trim(), key: old.key });
  expect(ends()?.reason).toContain("FLEET_CERT_FILE ends");
  const minute = () => clock.advance(60_000).then(() => files.current);
  expect(await minute()).toBe(first);

  writeFileSync(cert, String(next.cert));
  expect(await minute()).toBe(first);
  expect(files.fault).toBeNull();
  expect(await minute()).toBe(first);
  expect(files.fault?.reason).toContain("FLEET_KEY_FILE does not belong to the certificate");
  writeFileSync(keyFile, String(next.key).slice(0, 60));
  expect(await minute()).toBe(first);
  expect(files.fault?.sinceMs).toBe(clock.now() - 60_000);
  expect(ends()?.reason).toContain("FLEET_CERT_FILE ends");

  writeFileSync(keyFile, String(next.key));
  expect(await minute()).toMatchObject({ certificate: String(next.cert).trim(), key: next.key });
  expect([files.fault, ends()]).toEqual([null, null]);
  const second = files.current;
  writeFileSync(ca, readFileSync(cert, "utf8") + String(old.cert));
  expect((await minute())?.trusted).toContain(String(old.cert).trim());
  expect(files.current).not.toBe(second);
});

test("at the start unusable files are waited for, and end nothing", async () => {
  const clock = new TestClock();
  const folder = temporaryFolder();
  const [cert, keyFile] = [join(folder, "cut.pem"), join(folder, "fleet.key")];
  const [own, other] = [1, 2].map((day) => selfSignedTls(["a"], clock.now() - day * DAY));
  const settings = { FLEET_CERT_FILE: cert, FLEET_KEY_FILE: keyFile };
  const files = new FleetFiles(settings, clock);
  const ends = certificateEnds({}, files, clock);
  const found = () => clock.advance(60_000).then(() => [files.current, files.fault?.reason]);
  expect([files.current, files.fault?.sinceMs, ends()]).toEqual([undefined, clock.now(), null]);
  expect(await found()).toEqual([undefined, expect.stringContaining("cut.pem cannot be read")]);
  writeFileSync(cert, String(own?.cert).slice(0, 200));
  expect(await found()).toEqual([undefined, expect.stringContaining("holds no certificate")]);
  writeFileSync(cert, String(own?.cert));
  writeFileSync(keyFile, String(other?.key));
  expect(await found()).toEqual([undefined, expect.stringContaining("does not belong")]);
  expect(new FleetFiles(settings, clock).current).toBeUndefined();
  writeFileSync(keyFile, String(own?.key));
  expect(await found()).toEqual([expect.objectContaining({ key: own?.key }), undefined]);
});

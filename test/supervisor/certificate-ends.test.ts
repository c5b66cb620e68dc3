import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { conditionsOf, conditionText } from "../../src/shared/catalog/conditions.ts";
import { selfSignedTls } from "../../src/simulator/gateway/http/self-signed.ts";
import { certificateEnds } from "../../src/supervisor/certificates.ts";
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

const none = {
  FLEET_URL: "mqtts://broker.example",
  FLEET_CERT_FILE: undefined,
  FLEET_CA_FILE: undefined,
  GATEWAY_CA_FILE: undefined,
};

test("a certificate is reported from 30 days before its end, and after it", async () => {
  const clock = new TestClock();
  const ends = certificateEnds({ ...none, FLEET_CERT_FILE: fileOf(clock, 31) }, clock);
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
  const reason = (settings: object) =>
    certificateEnds({ ...none, ...settings }, clock)()?.reason ?? null;
  expect(reason({ FLEET_CERT_FILE: both })).toContain("FLEET_CERT_FILE");
  expect(reason({ FLEET_CA_FILE: both, GATEWAY_CA_FILE: late })).toBeNull();
  expect(reason({ FLEET_CA_FILE: soon, GATEWAY_CA_FILE: late })).toContain("FLEET_CA_FILE");
  expect(reason({ GATEWAY_CA_FILE: soon })).toContain("GATEWAY_CA_FILE");
  expect(reason({ PROXY_CA_FILE: soon })).toContain("PROXY_CA_FILE");
  expect(reason({ FLEET_URL: undefined, FLEET_CA_FILE: soon })).toBeNull();
});

test("the end is a condition of the status, with its alarm and the doctor's line", () => {
  const clock = new TestClock();
  const certificates = certificateEnds({ ...none, FLEET_CA_FILE: fileOf(clock, 5) }, clock)();
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

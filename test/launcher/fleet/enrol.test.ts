import { createPrivateKey, pbkdf2Sync, X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readArguments } from "../../../src/launcher/arguments.ts";
import { enrol } from "../../../src/launcher/fleet/enrol.ts";
import type { CommandContext } from "../../../src/launcher/output.ts";
import { readEntries } from "../../../src/shared/config/config-file.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

const DAY = 86_400_000;
const BROKER = ["--broker", "mqtts://broker.example"];

/** A folder of an operator with a list, in which the command is typed. */
function office(list: string | Buffer) {
  const folder = temporaryFolder();
  const file = join(folder, "kiosks.csv");
  const clock = new TestClock();
  const printed: string[] = [];
  const print = (...texts: string[]) => void printed.push(texts.join(" "));
  const output = { row: print, note: print };
  writeFileSync(file, list);
  const at = (...path: string[]): string => join(folder, "enrolled", ...path);
  return {
    file,
    clock,
    printed,
    at,
    read: (...path: string[]): string => readFileSync(at(...path), "utf8"),
    write: (text: string): void => writeFileSync(file, text),
    run: (...args: string[]): number => {
      const given = readArguments(["fleet", "enrol", file, ...args]);
      return enrol({ output, clock } as unknown as CommandContext, given);
    },
    settings: (kiosk: string): Record<string, string> => {
      const { entries } = readEntries(readFileSync(at("kiosks", kiosk, "fleet.txt"), "utf8"));
      return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
    },
    everyFile: (): string[] =>
      readdirSync(join(folder, "enrolled"), { recursive: true, withFileTypes: true })
        .filter((one) => one.isFile())
        .map((one) => join(one.parentPath, one.name)),
  };
}

test("logins: lists as spreadsheets write them, files of their own, no secret printed", () => {
  const head = '\uFEFF"FLEET_ID";Site ; FLEET_PAYMENTS\r\n';
  const list = `${head}kiosk-1;"Bern; west";no\r\nk_2;"a ""b""";\r\n\r\n`;
  const { run, read, at, settings, printed, everyFile } = office(list);
  expect(run(...BROKER)).toBe(0);
  expect(printed[0]).toContain("2 new, 0 renewed, 0 kept, 0 revoked");
  expect(printed[1]).toContain("not used: Site.");
  const password = settings("kiosk-1")["FLEET_PASSWORD"] ?? "";
  expect(settings("kiosk-1")).toEqual({
    FLEET_URL: "mqtts://broker.example",
    FLEET_ID: "kiosk-1",
    FLEET_USER: "kiosk-1",
    FLEET_PASSWORD: expect.stringMatching(/^[\w-]{32}$/),
    FLEET_CA_FILE: "/etc/kiosk/fleet-ca.pem",
    FLEET_PAYMENTS: "no",
  });
  expect(settings("k_2")).not.toHaveProperty("FLEET_PAYMENTS");
  const logins = read("broker", "passwords").trim().split("\n");
  expect(logins.map((line) => line.split(":")[0])).toEqual([
    "fleet.reader",
    "fleet.bridge",
    "fleet.figures",
    "fleet.requests",
    "kiosk-1",
    "k_2",
  ]);
  const [, , rounds = "", salt = "", hash] = (logins[4] ?? "").split("$");
  const made = pbkdf2Sync(password, Buffer.from(salt, "base64"), Number(rounds), 64, "sha512");
  expect(made.toString("base64")).toBe(hash);
  expect(read("broker", "fleet.conf")).toMatch(
    /listener 8883[\s\S]*use_username_as_clientid true\nmessage_size_limit 65536\n/,
  );
  expect(
    new X509Certificate(read("broker", "server.pem")).checkHost("broker.example"),
  ).toBeTruthy();
  expect(printed.join("\n")).not.toMatch(new RegExp(`${password}|\\$7\\$|PRIVATE`));
  if (process.platform === "win32") return;
  const modes = everyFile().filter((one) => !one.endsWith(".lock"));
  expect(modes.filter((one) => (statSync(one).mode & 0o777) !== 0o600)).toEqual([]);
  expect(statSync(at("kiosks", "kiosk-1")).mode & 0o077).toBe(0);
});

test("a longer list keeps what is there; access ends only when that is asked for", () => {
  const { run, read, at, settings, write, printed } = office("FLEET_ID\na\nb\n");
  run(...BROKER);
  const [authority, login, logins] = [read("ca.pem"), settings("a"), read("broker", "passwords")];
  write("FLEET_ID,FLEET_LABELS\nc,\na,site=bern floor=2\n");
  run();
  expect(printed).toEqual(
    expect.arrayContaining([expect.stringMatching(/1 new, .* 1 kept, 0 rev/)]),
  );
  expect(printed.some((line) => line.includes("keep their access: 1"))).toBe(true);
  expect(read("broker", "passwords").startsWith(logins)).toBe(true);
  expect([read("ca.pem"), settings("a")]).toEqual([
    authority,
    { ...login, FLEET_LABELS: "site=bern floor=2" },
  ]);
  run("--revoke", "--renew", "a", "--broker", "mqtts://other.example:8884");
  expect(printed.some((line) => line.includes("0 new, 1 renewed, 1 kept, 1 revoked"))).toBe(true);
  expect(printed.join()).toMatch(
    /certificate of the broker names other.example alone, no longer br/,
  );
  expect(printed.join()).toContain("delete its state at the broker");
  expect(existsSync(at("kiosks", "b"))).toBe(false);
  expect(read("broker", "passwords")).not.toMatch(/^b:/m);
  expect(settings("a")["FLEET_PASSWORD"]).not.toBe(login["FLEET_PASSWORD"]);
  expect(settings("c")["FLEET_URL"]).toBe("mqtts://other.example:8884");
  expect(new X509Certificate(read("broker", "server.pem")).checkHost("other.example")).toBeTruthy();
  expect(() => run("--renew", "b")).toThrow("--renew must name");
});

test("a column of a driver becomes a line too; a cleared cell ends the line of a kiosk", () => {
  const list = "FLEET_ID;x;x;ZVT_T4_MS;FLEET_LABELS\n";
  const { run, settings, write, printed } = office(`${list}a;;;90000;site=bern\nb;;;;\n`);
  run(...BROKER);
  expect(printed).toContain("Columns that are no settings of a kiosk are not used: x, x.");
  const { FLEET_PASSWORD } = settings("a");
  expect(settings("a")).toMatchObject({ ZVT_T4_MS: "90000", FLEET_LABELS: "site=bern" });
  expect(settings("b")).not.toHaveProperty("ZVT_T4_MS");
  write(`${list}a;;;90000;\nb;;;;\n`);
  run();
  expect(settings("a")).toMatchObject({ FLEET_PASSWORD, ZVT_T4_MS: "90000", FLEET_LABELS: "" });
  expect(settings("b")).not.toHaveProperty("FLEET_LABELS");
});

test("certificates: of one authority, replaced before their end, revoked if renewed", async () => {
  const { run, read, write, at, clock, settings } = office("FLEET_ID\na\nb\n");
  run(...BROKER, "--certificates", "--kiosk-folder", "C:\\kiosk");
  // A record in its earlier form is read too.
  const record = read("enrolment.json").replaceAll(/,\s*"replaced": \[\]/g, "");
  writeFileSync(at("enrolment.json"), record);
  const of = (kiosk: string) => new X509Certificate(read("kiosks", kiosk, "fleet.pem"));
  const authority = new X509Certificate(read("ca.pem"));
  expect(authority.subject).toBe("CN=Fleet of broker.example");
  const first = of("a");
  expect([first.subject, first.ca, first.verify(authority.publicKey)]).toEqual([
    "CN=a",
    false,
    true,
  ]);
  expect(first.checkIssued(authority)).toBe(true);
  expect(first.checkPrivateKey(createPrivateKey(read("kiosks", "a", "fleet.key")))).toBe(true);
  expect(settings("a")).toMatchObject({ FLEET_KEY_FILE: "C:\\kiosk/fleet.key" });
  expect(settings("a")).not.toHaveProperty("FLEET_PASSWORD");
  expect(read("broker", "fleet.conf")).toContain("use_identity_as_username true");
  const revoked = () => JSON.parse(read("enrolment.json")).revoked;
  run("--renew", "a");
  expect(record).not.toContain("replaced");
  expect(revoked()).toEqual([first.serialNumber.toLowerCase()]);
  const [second, other] = [of("a"), of("b")];
  await clock.advance(630 * DAY);
  run();
  expect(of("b").serialNumber).toBe(other.serialNumber);
  await clock.advance(20 * DAY);
  run();
  const [third, newer] = [of("a"), of("b")];
  expect([third.serialNumber, newer.serialNumber]).not.toContain(second.serialNumber);
  expect(newer.serialNumber).not.toBe(other.serialNumber);
  expect(revoked()).toHaveLength(1);
  // A replaced certificate is valid until its own end, so it is revoked with its successor.
  run("--renew", "a");
  const serials = (all: X509Certificate[]) => all.map((one) => one.serialNumber.toLowerCase());
  expect(revoked()).toEqual(serials([first, second, third]));
  write("FLEET_ID\na\n");
  run("--revoke");
  expect(revoked()).toEqual(serials([first, second, third, other, newer]));
});

test("certificates end the passwords: no kiosk is left out of the list by mistake", () => {
  const { run, read, write, settings, printed } = office("FLEET_ID\na\nb\n");
  run(...BROKER);
  expect(printed).not.toContainEqual(expect.stringMatching(/until they have/));
  const before = [read("enrolment.json"), read("broker", "fleet.conf"), settings("a")];
  write("FLEET_ID\na\n");
  expect(() => run("--certificates")).toThrow("the list must name every kiosk");
  expect([read("enrolment.json"), read("broker", "fleet.conf"), settings("a")]).toEqual(before);
  printed.length = 0;
  expect(run("--certificates", "--revoke")).toBe(0);
  expect(printed.filter((line) => line.includes("accepts no password"))).toHaveLength(1);
  expect(settings("a")).not.toHaveProperty("FLEET_PASSWORD");
});

test.each([
  ["FLEET_ID\na\nA\n", /line 3: FLEET_ID A stands in line 2 already/],
  ["FLEET_ID\na/b\n\nfleet.reader\n", /line 2: FLEET_ID must be[\s\S]*line 4: FLEET_ID must be/],
  ["FLEET_ID;FLEET_PAYMENTS\na;perhaps\n", /line 2: FLEET_PAYMENTS must be one of yes, no/],
  ["FLEET_ID;FLEET_LABELS\na;Site=Bern\n", /line 2: FLEET_LABELS /],
  ["FLEET_ID;x\na\n", /line 2: must have 2 cells/],
  ["FLEET_ID;x;x;FLEET_ID\na;;;b\n", /first line names the column FLEET_ID more than once/],
  ["FLEET_ID;ZVT_PROFILE\na;best\n", /line 2: ZVT_PROFILE must be one of/],
  ['FLEET_ID;x\na;"b\n', /line 2: must have 2 cells/],
  [
    "FLEET_ID\n4111111111111111\n4111111111111111\n",
    /line 2: FLEET_ID [a-z ]+\n[a-z 3]+: FLEET_ID [a-z ]+$/,
  ],
  ["kiosk-1\nkiosk-2\n", /first line must name the columns/],
  ["FLEET_ID\n\n", /names no kiosk/],
  [Buffer.from("\uFEFFFLEET_ID\na\n", "utf16le"), /not UTF-8/],
  [`FLEET_ID\n${"?\n".repeat(22)}`, /\n {2}2 more faults$/],
])("a list with a fault changes nothing: %j", (list, fault) => {
  const { run, at } = office(list);
  expect(() => run(...BROKER)).toThrow(fault);
  expect(existsSync(at())).toBe(false);
});

test("no broker, an unsafe one, no list, and a folder that lost its key are refused", () => {
  const { run, file, at } = office("FLEET_ID\na\n");
  for (const broker of [[], ["--broker", "mqtt://127.0.0.1"], ["--broker", "mqtts://a:b@c"]]) {
    expect(() => run(...broker)).toThrow("--broker must name");
  }
  expect(() => run(...BROKER, "--kiosk-folder", "x")).toThrow("--kiosk-folder must name");
  mkdirSync(at(), { recursive: true });
  writeFileSync(at("ca.key"), "");
  expect(() => run(...BROKER)).toThrow(/lacks ca.key, ca.pem or a whole enrolment.json/);
  expect(() => run(...BROKER, "--into", join(file, "x"))).toThrow(
    expect.objectContaining({ exitCode: 69, message: expect.stringContaining("ENOTDIR") }),
  );
  // A folder of others, or one that lost all that it must keep.
  mkdirSync(at("other", "broker"), { recursive: true });
  expect(() => run(...BROKER, "--into", at("other"))).toThrow("/other lacks ca.key");
  mkdirSync(at("locked", "enrol.lock"), { recursive: true });
  expect(() => run(...BROKER, "--into", at("locked"))).toThrow(
    expect.objectContaining({ exitCode: 69, message: expect.stringContaining(at("locked")) }),
  );
  const nothing = readArguments(["fleet", "enrol", `${file}.x`]);
  expect(() => enrol({} as CommandContext, nothing)).toThrow("name the list");
  expect(() => readArguments(["fleet", "enrol", "a", "b"])).toThrow("do not go together");
  expect(() => readArguments(["stop", "--revoke"])).toThrow("--revoke belongs to fleet");
});

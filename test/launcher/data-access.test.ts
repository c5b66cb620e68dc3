import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { checkDataAccess } from "../../src/launcher/doctor/check-surroundings.ts";
import { closeDataFolder } from "../../src/launcher/processes/data-access.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

const OWN = "S-1-5-21-1004336348-1177238915-682003330-1001";
const THREE = `(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;${OWN})`;

let tools: string;

/** Windows, with its tools found by their full names in a folder of the PATH. */
beforeEach(() => {
  const { platform, env } = process;
  tools = temporaryFolder();
  vi.stubEnv("PATH", `${tools}:${env["PATH"]}`);
  vi.stubEnv("SystemRoot", undefined);
  Object.defineProperty(process, "platform", { value: "win32" });
  onTestFinished(() => {
    Object.defineProperty(process, "platform", { value: platform });
    vi.unstubAllEnvs();
  });
});

/** Every call is written down, each word on a line of its own. */
function tool(name: string, does: string): void {
  const file = join(tools, `C:\\Windows\\System32\\${name}.exe`);
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$@" >> '${tools}/${name}.calls'\n${does}\n`);
  chmodSync(file, 0o755);
}

function calls(name: string): string[] {
  const file = join(tools, `${name}.calls`);
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

function windows(icacls: string, user = `echo '"kiosk\\\\kasse","${OWN}"'`) {
  tool("whoami", user);
  tool("icacls", icacls);
  const data = join(temporaryFolder(), "data & more");
  mkdirSync(data);
  return { data };
}

/** An icacls that saves these rights, in UTF-16 as the real one does. */
const saves = (rights: string): string =>
  `printf '%s' 'data\r\n${rights}\r\n' | iconv -t UTF-16LE > "$3"`;

test("the first start closes the folder to all but user, system and administrators", async () => {
  const { data } = windows("exit 0");
  expect(await closeDataFolder(data)).toBeUndefined();
  expect(calls("whoami")).toEqual(["/user", "/fo", "csv", "/nh"]);
  const args = [
    data,
    "/inheritance:r",
    "/grant:r",
    `*${OWN}:(OI)(CI)F`,
    "*S-1-5-18:(OI)(CI)F",
    "*S-1-5-32-544:(OI)(CI)F",
    "/q",
  ];
  expect(calls("icacls")).toEqual(args);
  // What an administrator allows later stays.
  expect(await closeDataFolder(data)).toBeUndefined();
  expect(calls("icacls")).toEqual(args);
});

test("where the user is the system account its right is set once", async () => {
  const { data } = windows("exit 0", `echo '"nt","S-1-5-18"'`);
  await closeDataFolder(data);
  expect(calls("icacls").filter((argument) => argument.includes("S-1-5-18"))).toHaveLength(1);
});

test.each([
  { what: "icacls refuses", does: "echo 'Zugriff verweigert' >&2; exit 5", says: /Zugriff verw/ },
  { what: "the user is unknown", does: "exit 0", user: "echo x", says: /print the user's SID/ },
])("$what: one line says so, and the next start tries again", async ({ does, user, says }) => {
  const { data } = windows(does, user);
  const line = await closeDataFolder(data);
  expect(line).toMatch(says);
  expect(line?.startsWith(`could not close ${data} to other users: `)).toBe(true);
  windows("exit 0");
  expect(await closeDataFolder(data)).toBeUndefined();
  expect(calls("icacls")).toContain("/inheritance:r");
});

test("without icacls on Windows start and doctor say that access is not known", async () => {
  const { data } = windows("exit 0");
  vi.stubEnv("PATH", temporaryFolder());
  expect(await closeDataFolder(data)).toMatch(/could not close .* to other users: .*ENOENT/);
  const [finding] = await checkDataAccess(data);
  expect(finding).toMatchObject({ check: "access", verdict: "warn" });
  expect(finding?.says).toMatch(/^It is not known who may use the data folder: .*ENOENT/);
});

test.each([
  { rights: `D:PAI${THREE}`, verdict: "ok", says: /^Only this user, the system and the admin/ },
  { rights: `D:PAI${THREE}(D;OICI;FA;;;WD)`, verdict: "ok", says: /^Only this user/ },
  { rights: `D:AI${THREE}`, verdict: "fail", says: /the folder above/ },
  { rights: `D:AI${THREE}(A;OICIID;0x1301bf;;;AU)`, verdict: "fail", says: /Everybody.*\(AU\)/ },
  { rights: `D:PAI${THREE}(A;OICI;FR;;;S-1-1-0)`, verdict: "fail", says: /Everybody.*\(S-1-1-0\)/ },
  { rights: `D:PAI${THREE}(A;;FR;;;S-1-5-21-7)`, verdict: "warn", says: /so may S-1-5-21-7\.$/ },
  { rights: "D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", verdict: "warn", says: /do not name/ },
  { rights: "nothing", verdict: "warn", says: /icacls printed no access rights/ },
  { rights: "D:NO_ACCESS_CONTROL", verdict: "fail", says: /Everybody.*\(Everyone\)/ },
])("the doctor on $rights: $verdict", async ({ rights, verdict, says }) => {
  const { data } = windows(saves(rights));
  const [finding] = await checkDataAccess(data);
  expect(finding).toMatchObject({ check: "access", verdict });
  expect(finding?.says).toMatch(says);
  expect(calls("icacls").toSpliced(2, 1)).toEqual([data, "/save", "/q"]);
  if (verdict === "fail") expect(finding?.todo).toContain(`"*${OWN}:(OI)(CI)F"`);
});

test("on a system with file modes no Windows right is set or checked", async () => {
  const { data } = windows("exit 0");
  Object.defineProperty(process, "platform", { value: "linux" });
  expect(await closeDataFolder(data)).toBeUndefined();
  expect(await checkDataAccess(data)).toEqual([]);
  expect([calls("icacls"), calls("whoami")]).toEqual([[], []]);
});

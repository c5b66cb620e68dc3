import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { carrySwitchOut, recordNext } from "../../src/launcher/update/switch.ts";
import { copySynced } from "../../src/shared/store/store-file.ts";
import { systemClock } from "../../src/shared/time.ts";
import { checkForUpdate } from "../../src/update/check-for-update.ts";
import { clearOldVersions } from "../../src/update/disk-room.ts";
import { removeWhole } from "../../src/update/durable-files.ts";
import { switchBegins } from "../../src/update/switch-machine.ts";
import { readReady, type SwitchRecord, writeSwitch } from "../../src/update/update-state.ts";
import { dataIn, finish, switchSiteOf } from "./switch-program.ts";

/*
 * The whole path of an update on real files: the check for it at a publisher's repository, the
 * download, the unpacking, the mark that it is ready, the switch. The programs are those of
 * switch-program.ts. Started as a program: `update-path FOLDER URL works|fails`, and what the next
 * launcher does after a cut: `update-path finish works|fails FOLDER ...`.
 */

export const FROM = "1.0.0";
export const TO = "2.0.0";
const PLATFORM = "linux-x64";
export const runtimes = { [FROM]: "0123456789abcdef", [TO]: "fedcba9876543210" } as const;
type Version = keyof typeof runtimes;

/** The files of a version and of its runtime, by their paths below the root of the delivery. */
export function filesOf(version: Version): Record<string, string> {
  const runtime = runtimes[version];
  const at = (path: string): string => join("versions", version, path);
  const delivery = { version, platform: PLATFORM, builtAt: "2026-01-01T00:00:00Z" };
  return {
    [at("delivery.json")]: JSON.stringify(delivery),
    [at("runtime")]: `${runtime}\n`,
    // The real one starts the version; this one only prints its name.
    [at("launch.sh")]: `echo "$version"\n`,
    [at("programs/supervisor.js")]: `// ${version}\n`.repeat(300),
    [at("programs/tp-manager.js")]: `/* ${version} */\n`.repeat(300),
    [at("complete")]: `${version}\n`,
    [join("runtimes", runtime, "node")]: "elf",
  };
}

export function writeFiles(root: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

/** One night's look by a version. */
export function runningAt(root: string, url: string, version: string) {
  return checkForUpdate({
    dataDirectory: dataIn(root),
    root,
    url,
    channel: "stable",
    clock: systemClock,
    version,
    how: "fetch",
    alarm: () => {},
    freeBytes: () => Number.MAX_SAFE_INTEGER,
  });
}

/** As the keep-alive's launcher takes the version that is ready; undefined: there is none. */
export async function takeReady(root: string, works: boolean): Promise<SwitchRecord | undefined> {
  const data = dataIn(root);
  const to = readReady(data)?.version;
  if (to === undefined) return undefined;
  if (!existsSync(join(root, "versions", to, "complete"))) throw new Error(`${to} is not whole`);
  const record: SwitchRecord = {
    format: 1 as const,
    from: FROM,
    to,
    beganMs: 0,
    atMs: 0,
    linkWasUp: true,
    ...switchBegins,
  };
  writeSwitch(data, record);
  const copies = join(data, "update", "self-test");
  removeWhole(copies);
  mkdirSync(copies);
  copySynced(join(data, "journal.db"), join(copies, "journal.db"));
  removeWhole(copies);
  const site = switchSiteOf(root, works);
  const begun = recordNext(site, record, { event: "carried-out" });
  const end = await carrySwitchOut(site, begun);
  if (end.step === "done") clearOldVersions(root, [FROM, to]);
  return end;
}

if (import.meta.main) {
  const [root = "", url = "", how, ...others] = process.argv.slice(2);
  if (root === "finish") {
    for (const folder of [how ?? "", ...others]) await finish(folder, url === "works");
  } else {
    await runningAt(root, url, FROM);
    await takeReady(root, how === "works");
  }
}

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { runSystemTool, toolFault } from "./system-tool.ts";

/**
 * Only the user who runs the connector, the system and the administrators may use the data folder
 * (docs/design.md 9.4). On Windows, which has no file modes, icacls sets these rights. Accounts are
 * named by their SIDs, because their names are in the machine's language.
 */
const SYSTEM = "S-1-5-18";
const ADMINISTRATORS = "S-1-5-32-544";
/** The short names of two accounts in a Windows list of rights ([MS-DTYP] 2.5.1.1). */
const short: Readonly<Record<string, string>> = { SY: SYSTEM, BA: ADMINISTRATORS };

/** One entry of the list of rights that `icacls /save` writes: its type and its account. */
const entryForm = /\(([A-Z]+);[^;]*;[^;]*;[^;]*;[^;]*;([^;)]+)[^)]*\)/g;

/** Accounts of many people: everyone, signed in, at the screen, guests, users, anonymous. */
const broad = new Set(
  "WD AU IU BG BU AN S-1-1-0 S-1-5-11 S-1-5-4 S-1-5-32-546 S-1-5-32-545 S-1-5-7".split(" "),
);

/**
 * Closes the data folder to other users at the first start on Windows; only once, so that rights
 * which an administrator gives later stay. Returns why closing failed; the next start tries again.
 */
export async function closeDataFolder(dataDirectory: string): Promise<string | undefined> {
  if (process.platform !== "win32") return undefined;
  const done = join(openRunDirectory(dataDirectory), "access-closed");
  if (existsSync(done)) return undefined;
  try {
    await runSystemTool("icacls", ...closingArguments(dataDirectory, await ownSid()));
    writeFileSync(done, "");
    return undefined;
  } catch (error) {
    return `could not close ${dataDirectory} to other users: ${toolFault(error)}`;
  }
}

/** Returns who may use the data folder. Throws when Windows does not report the rights. */
export async function readDataAccess(dataDirectory: string) {
  const own = await ownSid();
  const folder = mkdtempSync(join(tmpdir(), "utc-access-"));
  try {
    const file = join(folder, "rights");
    await runSystemTool("icacls", dataDirectory, "/save", file, "/q");
    const args = closingArguments(dataDirectory, own).map((arg) => `"${arg}"`);
    const close = `icacls ${args.join(" ")}`;
    return { close, ...accessOf(readFileSync(file, "utf16le"), own) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function accessOf(saved: string, own: string) {
  const list = saved.slice(saved.indexOf("D:"));
  const flags = /^D:([A-Z]*)/.exec(list)?.[1];
  if (flags === undefined) throw new Error("the program icacls printed no access rights");
  const sids = [...list.matchAll(entryForm)]
    .filter(([, kind]) => kind === "A" || kind === "XA")
    .map(([, , sid = ""]) => short[sid] ?? sid);
  const three = new Set([own, SYSTEM, ADMINISTRATORS]);
  const others = [...new Set(sids.filter((sid) => !three.has(sid)))];
  return {
    /** Whether everybody on this machine may use the folder, as without any list of rights. */
    isOpen: flags === "NO" || others.some((sid) => broad.has(sid)),
    /** Whether the folder inherits the rights of the folder above it. */
    inherits: !flags.includes("P"),
    others,
    isOurs: sids.includes(own),
  };
}

function closingArguments(folder: string, own: string): string[] {
  const full = [...new Set([own, SYSTEM, ADMINISTRATORS])].map((sid) => `*${sid}:(OI)(CI)F`);
  return [folder, "/inheritance:r", "/grant:r", ...full, "/q"];
}

async function ownSid(): Promise<string> {
  const said = await runSystemTool("whoami", "/user", "/fo", "csv", "/nh");
  const sid = /"(S-1-[\d-]+)"/.exec(said)?.[1];
  if (sid === undefined) throw new Error("the program whoami did not print the user's SID");
  return sid;
}

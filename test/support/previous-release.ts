import { execFileSync, spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../tidy/sources.ts";
import type { audit, Release } from "./every-phase.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The last commit before steps kept their event: the release that an update is taken back to. */
const PREVIOUS = "a9394b4819153c1b17980b361b5e9ee55238e494";

/** A clone without history, or an archive, does not have its code. */
export const hasPrevious =
  spawnSync("git", ["cat-file", "-e", `${PREVIOUS}^{commit}`], { cwd: root }).status === 0;

/** The code of the previous release, with the packages of this one. */
export async function previousRelease(): Promise<Release & { readonly audit: typeof audit }> {
  const folder = temporaryFolder();
  const parts = ["package.json", "src", "test/support"];
  const archive = execFileSync("git", ["archive", PREVIOUS, ...parts], {
    cwd: root,
    maxBuffer: 2 ** 28,
  });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  const load = (path: string) => import(pathToFileURL(join(folder, path)).href);
  const { house, pay } = await load("test/support/payment-house.ts");
  const { auditPart, joined, partsOf } = await load("src/tp-manager/audit/audit-journal.ts");
  return {
    house,
    pay,
    audit: (path) => joined(partsOf(path).map((part: never) => auditPart(path, part))),
  };
}

import { execFileSync, spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { PaymentEnd, PaymentObserver } from "../../../src/tp-manager/terminal/terminal.ts";
import { root } from "../../tidy/sources.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import type { audit, Release } from "./every-phase.ts";
import type { House } from "./payment-house.ts";

/** The last commit before steps kept their event: the release that an update is taken back to. */
const PREVIOUS = "a9394b4819153c1b17980b361b5e9ee55238e494";
/** The last commit whose events all have version 1. */
const FIRST_VERSION = "c8059f8e168cc0869d1baa63a093eb1d3865c5bc";

/** A clone without history, or an archive, does not have its code. */
export const hasPrevious =
  spawnSync("git", ["cat-file", "-e", `${PREVIOUS}^{commit}`], { cwd: root }).status === 0;

type Former = Release & { readonly audit: typeof audit };

/** The code of the previous release, with the packages of this one. */
export async function previousRelease(): Promise<Former> {
  const { house, ...others } = await releaseAt(PREVIOUS, "test/support/payment-house.ts");
  return { ...others, house: (...given) => underFormerName(house(...given)) };
}

/** The code that knows the first version of events only, with the packages of this one. */
export function firstVersion(): Promise<Former> {
  return releaseAt(FIRST_VERSION, "test/support/house/payment-house.ts");
}

async function releaseAt(commit: string, houseFile: string): Promise<Former> {
  const folder = temporaryFolder();
  const parts = ["package.json", "src", "test/support"];
  const archive = execFileSync("git", ["archive", commit, ...parts], {
    cwd: root,
    maxBuffer: 2 ** 28,
  });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  const load = (path: string) => import(pathToFileURL(join(folder, path)).href);
  const { house, pay } = await load(houseFile);
  const { auditPart, joined, partsOf } = await load("src/tp-manager/audit/audit-journal.ts");
  return {
    house,
    pay,
    audit: (path) => joined(partsOf(path).map((part: never) => auditPart(path, part))),
  };
}

type FormerObserver = PaymentObserver & { readonly acknowledged: () => void };
type Script = (order: never, observer: PaymentObserver, nth: number) => Promise<PaymentEnd>;

/** Lets today's scripts of a terminal report an ACK to the release that calls it `acknowledged`. */
function underFormerName(at: House): House {
  for (const name of ["script", "reversal"] as const) {
    let script: Script = at.terminal[name];
    Object.defineProperty(at.terminal, name, {
      get: () => (order: never, observer: FormerObserver, nth: number) =>
        script(order, { ...observer, ackArrived: () => observer.acknowledged() }, nth),
      set: (value: Script) => {
        script = value;
      },
    });
  }
  return at;
}

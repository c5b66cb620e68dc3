import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CommandContext } from "../../src/launcher/output.ts";
import { carrySwitchOut, endSwitch, recordNext } from "../../src/launcher/update/switch.ts";
import type { SwitchSite } from "../../src/launcher/update/versions.ts";
import { installationAt } from "../../src/shared/program/installation.ts";
import { openDatabase, prepared } from "../../src/shared/store/sqlite.ts";
import { syncFolder, writeSynced } from "../../src/shared/store/store-file.ts";
import { systemClock } from "../../src/shared/time.ts";
import { switchBegins } from "../../src/update/switch-machine.ts";
import { type SwitchRecord, writeSwitch } from "../../src/update/update-state.ts";

/*
 * A switch from version 1.0.0 to 2.0.0 on real files, with programs that are only what they do to
 * the disk: they open both stores with their own schema and, without the mark of the probation,
 * take a payment. A payment that was answered is in the ledger, which no update touches.
 * Started as a program: `switch-program FOLDER works|fails`.
 */

const table = "CREATE TABLE payment (id INTEGER PRIMARY KEY) STRICT";
const schemas: Readonly<Record<string, readonly string[]>> = {
  "1.0.0": [table],
  // Programs of the schema before cannot go on with it.
  "2.0.0": [table, "ALTER TABLE payment ADD COLUMN note TEXT"],
};
const stores = ["journal.db", "supervisor.db"];

export const dataIn = (root: string): string => join(root, "data");
const ledgerIn = (root: string): string => join(root, "ledger");

export function ledger(root: string): number[] {
  if (!existsSync(ledgerIn(root))) return [];
  return readFileSync(ledgerIn(root), "utf8").split("\n").filter(Boolean).map(Number);
}

/** Throws when the version cannot use the stores. */
export function payments(root: string, version: string): number[] {
  const [first = []] = stores.map((name) => {
    const database = openDatabase(join(dataIn(root), name), schemas[version] ?? []);
    const ids = prepared(database, "SELECT id FROM payment")
      .all()
      .map(({ id }) => Number(id));
    database.close();
    return ids;
  });
  return first;
}

/** A start of the programs. */
export function run(root: string, version: string): void {
  const next = Math.max(0, ...payments(root, version), ...ledger(root)) + 1;
  if (existsSync(join(dataIn(root), "update", "probation"))) return;
  for (const name of stores) {
    const database = openDatabase(join(dataIn(root), name), schemas[version] ?? []);
    database.exec(`INSERT INTO payment (id) VALUES (${next})`);
    database.close();
  }
  const text = [...ledger(root), next].join("\n");
  writeSynced(ledgerIn(root), `${text}\n`);
  syncFolder(root);
}

export function switchSiteOf(root: string, works: boolean): SwitchSite {
  return {
    ...siteOf(root),
    root,
    stop: () => Promise.resolve(),
    start: (version) => Promise.resolve(run(root, version)),
    prove({ to }) {
      run(root, to);
      const failed = { event: "failed", why: "it does not work", bars: true } as const;
      return Promise.resolve(works ? { event: "carried-out" } : failed);
    },
  };
}

export function siteOf(root: string): CommandContext {
  const nothing = (): void => {};
  const output = { row: nothing, finding: nothing, text: nothing, note: nothing };
  return {
    ...installationAt(dataIn(root)),
    clock: systemClock,
    output: { ...output, fault: nothing, heading: nothing },
  };
}

/** As `launch.sh update` does it once the new version is tested and the kiosk idle. */
export async function switchOver(root: string, works: boolean): Promise<void> {
  const record: SwitchRecord = {
    format: 1 as const,
    from: "1.0.0",
    to: "2.0.0",
    beganMs: 0,
    atMs: 0,
    linkWasUp: true,
    ...switchBegins,
  };
  writeSwitch(dataIn(root), record);
  const site = switchSiteOf(root, works);
  await carrySwitchOut(site, recordNext(site, record, { event: "carried-out" }));
}

/** As the next keep-alive does it. */
export function finish(root: string, works: boolean): Promise<void> {
  return endSwitch(switchSiteOf(root, works));
}

if (import.meta.main) {
  const [root = "", how] = process.argv.slice(2);
  await switchOver(root, how === "works");
}

import { copyFileSync, existsSync, renameSync, rmSync, truncateSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DiskFailure } from "./disk.ts";
import type { LostKnowledge } from "./lost-knowledge.ts";
import type { Store, StoreHarm } from "./plan.ts";
import type { Supervisor, TpManager } from "./processes.ts";

/** The part of a simulated world whose databases can come to harm. */
interface Stored {
  readonly folder: string;
  readonly tpManager: TpManager | undefined;
  readonly supervisor: Supervisor | undefined;
  readonly lost: LostKnowledge;
  killTpManager(ms: number): void;
  killSupervisor(ms: number): void;
}

const both: readonly Store[] = ["journal", "supervisor"];
const copyOf = (store: Store): string => `${store}.copy`;

/** Does it to the files while the program that owns them is not running. */
export function harmStores(world: Stored, harm: StoreHarm): void {
  switch (harm.do) {
    case "nightly-copy":
      copy(world.folder, "journal", world.tpManager?.journal.store);
      copy(world.folder, "supervisor", world.supervisor?.stores.store);
      return;
    case "store-lost":
      stopped(world, [harm.store], harm.ms, remove);
      return;
    case "store-zeroed":
      // The write-ahead log stays next to a file of no bytes.
      stopped(world, [harm.store], harm.ms, (path) => truncateSync(path, 0));
      return;
    case "store-restored":
      stopped(world, [harm.store], harm.ms, restore);
      return;
    case "stores-restored":
      stopped(world, both, harm.ms, restore);
      return;
    case "stores-swapped":
      stopped(world, both, harm.ms, (path, store) =>
        store === harm.store ? restore(path, store) : remove(path),
      );
      return;
  }
}

function stopped(
  world: Stored,
  stores: readonly Store[],
  ms: number,
  work: (path: string, store: Store) => void,
): void {
  if (stores.includes("journal")) world.killTpManager(ms);
  if (stores.includes("supervisor")) world.killSupervisor(ms);
  world.lost.through(() => {
    for (const store of stores) work(join(world.folder, `${store}.db`), store);
  });
}

/** As the daily chore of a program that runs makes it: whole, and of one moment. */
function copy(folder: string, store: Store, of: { copied(): void } | undefined): void {
  if (!of) return;
  const to = join(folder, copyOf(store));
  const unfinished = `${to}.unfinished`;
  rmSync(unfinished, { force: true });
  const database = new DatabaseSync(join(folder, `${store}.db`), { readOnly: true });
  database.exec(`VACUUM INTO '${unfinished}'`);
  database.close();
  try {
    of.copied();
    renameSync(unfinished, to);
  } catch (error) {
    // The chore is logged as failed, and the copy of the day before stays.
    if (!(error instanceof DiskFailure)) throw error;
  }
}

function restore(path: string, store: Store): void {
  const from = join(dirname(path), copyOf(store));
  if (!existsSync(from)) return;
  remove(path);
  copyFileSync(from, path);
}

function remove(path: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
}

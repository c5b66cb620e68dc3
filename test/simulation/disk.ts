import { DatabaseSync, StatementSync } from "node:sqlite";

/** The disk under a database refused, or the machine went away at this very statement. */
export class DiskFailure extends Error {
  override readonly name = "DiskFailure";
  readonly disk: Disk;

  constructor(disk: Disk, what: string) {
    super(what);
    this.disk = disk;
  }
}

/** The fault of a disk at which its process dies, at the given write from now. */
export function crashOf({ writes, when }: { writes: number; when: "before" | "after" }) {
  return { after: writes - 1, when };
}

/**
 * The disk under one database file: fails or crashes at chosen statements. It sits below the
 * product, in SQLite's own JavaScript classes, so the product has no hooks for it.
 */
export class Disk {
  /** Statements that change something, and commits, so far. */
  writes = 0;
  /** From which write on, and how many, fail. */
  full: { after: number; count: number } | null = null;
  unreadable = 0;
  crash: { after: number; when: "before" | "after"; crash: () => void } | null = null;
  gone = false;

  /** Runs one write, or fails before it, or crashes before or after it. */
  write<T>(work: () => T): T {
    this.#assertThere();
    this.writes += 1;
    const { crash, full } = this;
    const crashes = crash !== null && --crash.after < 0;
    if (crashes && crash.when === "before") this.#crash(crash);
    if (full !== null && --full.after < 0) {
      if (--full.count <= 0) this.full = null;
      throw new DiskFailure(this, "database or disk is full");
    }
    const result = work();
    if (crashes) this.#crash(crash);
    return result;
  }

  read<T>(work: () => T): T {
    this.#assertThere();
    if (this.unreadable > 0) {
      this.unreadable -= 1;
      throw new DiskFailure(this, "disk I/O error");
    }
    return work();
  }

  heal(): void {
    this.full = null;
    this.unreadable = 0;
    this.crash = null;
  }

  #assertThere(): void {
    if (this.gone) throw new DiskFailure(this, "the process is gone");
  }

  #crash({ crash }: { crash: () => void }): never {
    this.crash = null;
    crash();
    throw new DiskFailure(this, "the process is gone");
  }
}

const disks = new WeakMap<DatabaseSync, Disk>();
const ofStatement = new WeakMap<StatementSync, Disk>();
let opening: Disk | undefined;

/** Opens databases inside `open` on `disk`; what they do to set themselves up never fails. */
export function onDisk<T>(disk: Disk, open: () => T): T {
  install();
  opening = disk;
  const { heal: _, ...kept } = { heal: null, full: disk.full, crash: disk.crash };
  disk.heal();
  try {
    return open();
  } finally {
    opening = undefined;
    disk.full = kept.full;
    disk.crash = kept.crash;
  }
}

let installed = false;

function install(): void {
  if (installed) return;
  installed = true;
  const database = DatabaseSync.prototype;
  const statement = StatementSync.prototype;
  const { prepare, exec } = database;
  const { run, get, all } = statement;
  const diskOf = (of: DatabaseSync): Disk | undefined => {
    if (opening && !disks.has(of)) disks.set(of, opening);
    return disks.get(of);
  };
  database.prepare = function prepareOnDisk(this: DatabaseSync, ...given) {
    const prepared = prepare.apply(this, given);
    const disk = diskOf(this);
    if (disk) ofStatement.set(prepared, disk);
    return prepared;
  };
  database.exec = function execOnDisk(this: DatabaseSync, sql) {
    const disk = diskOf(this);
    const counts = disk && sql === "COMMIT";
    return counts ? disk.write(() => exec.call(this, sql)) : exec.call(this, sql);
  };
  const on = <A extends unknown[], R>(work: (...given: A) => R, way: "write" | "read") =>
    function onItsDisk(this: StatementSync, ...given: A): R {
      const disk = ofStatement.get(this);
      return disk ? disk[way](() => work.apply(this, given)) : work.apply(this, given);
    };
  statement.run = on(run as (...given: unknown[]) => unknown, "write") as typeof run;
  statement.get = on(get as (...given: unknown[]) => unknown, "read") as typeof get;
  statement.all = on(all as (...given: unknown[]) => unknown, "read") as typeof all;
}

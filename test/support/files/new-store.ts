import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Migration, openDatabase } from "../../../src/shared/store/sqlite.ts";

interface Empty {
  readonly bytes: Buffer;
  /** Where each identity stands that a migration draws by lot, in hexadecimal digits. */
  readonly identities: ReadonlyMap<string, readonly number[]>;
}

const known = new Map<readonly Migration[], Empty>();

/**
 * `path`, where an empty database with identities of its own is put if there is none, and no log
 * that is left of one. To migrate a new database takes longer than most tests.
 */
export function newStore(path: string, migrations: readonly Migration[]): string {
  if (existsSync(path) || existsSync(`${path}-wal`)) return path;
  const { bytes, identities } = known.get(migrations) ?? emptyStore(migrations);
  const own = Buffer.from(bytes);
  for (const [identity, offsets] of identities) {
    const drawn = randomBytes(identity.length / 2).toString("hex");
    for (const offset of offsets) own.write(drawn, offset, "latin1");
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, own);
  return path;
}

function emptyStore(migrations: readonly Migration[]): Empty {
  const folder = mkdtempSync(join(tmpdir(), "utc-empty-"));
  const path = join(folder, "empty.db");
  openDatabase(path, migrations).close();
  const bytes = readFileSync(path);
  rmSync(folder, { recursive: true });
  const identities = new Map<string, number[]>();
  for (const { 0: identity, index } of bytes.toString("latin1").matchAll(/[0-9a-f]{32}/g)) {
    identities.set(identity, [...(identities.get(identity) ?? []), index]);
  }
  const empty = { bytes, identities };
  known.set(migrations, empty);
  return empty;
}

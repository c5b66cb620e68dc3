import type { Key, Metadata, Root } from "@tufjs/models";
import { readPublicKey, type SigningKey } from "./keys.ts";
import {
  type Documents,
  daysLeft,
  keysFor,
  missingSignatures,
  type Repository,
  type Role,
  SPEC_VERSION,
  type StagedRole,
  signedOnline,
} from "./repository.ts";

/* Roots, signatures and what follows from them: docs/updates.md 5.1 to 5.5. */

// biome-ignore lint/suspicious/noExplicitAny: the signed part of a document is checked when read
type Json = any;
type Print = (line: string) => void;

interface NewRepository {
  readonly keys: Readonly<Record<Role, readonly string[]>>;
  readonly thresholds: Readonly<{ root: number; targets: number }>;
}

/** Stages the first root and an empty list of targets. */
export function begin(repository: Repository, { keys, thresholds }: NewRepository): void {
  if (repository.published("root") ?? repository.staged("root")) {
    throw new Error(`${repository.folder} holds a repository already`);
  }
  const root: Json = {
    _type: "root",
    spec_version: SPEC_VERSION,
    consistent_snapshot: true,
    keys: {},
    roles: {},
  };
  for (const role of ["root", "targets", "snapshot", "timestamp"] as const) {
    const threshold = role === "root" || role === "targets" ? thresholds[role] : 1;
    root.roles[role] = { keyids: [], threshold };
    for (const file of keys[role]) addKey(root, role, readPublicKey(file));
  }
  assertSound(root);
  repository.stage("root", root);
  repository.stage("targets", { _type: "targets", spec_version: SPEC_VERSION, targets: {} });
}

function addKey(root: Json, role: Role, key: Key): void {
  root.keys[key.keyID] = key.toJSON();
  if (root.roles[role].keyids.includes(key.keyID)) throw new Error(`${role} has this key twice`);
  root.roles[role].keyids.push(key.keyID);
}

/** Thresholds that the keys can reach, and no key of persons on the machine that is online. */
function assertSound(root: Json): void {
  for (const [role, { keyids, threshold }] of Object.entries<Json>(root.roles)) {
    if (threshold >= 1 && keyids.length >= threshold) continue;
    throw new Error(`${role} has ${keyids.length} keys for a threshold of ${threshold}`);
  }
  const online = [...root.roles.snapshot.keyids, ...root.roles.timestamp.keyids];
  const ofPersons = [...root.roles.root.keyids, ...root.roles.targets.keyids];
  if (online.some((id) => ofPersons.includes(id))) {
    throw new Error("a key of snapshot or timestamp must not sign root or targets");
  }
}

interface Rotation {
  readonly role: Role;
  /** Public files that come; ids or public files that go. None that goes: all of them. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly threshold?: number | undefined;
}

/** Stages a root with other keys for a role; for targets, the list too, to be signed anew. */
export function rotate(repository: Repository, rotation: Rotation, print: Print): void {
  const { role, added, removed, threshold } = rotation;
  const root: Json = repository.nextRoot().signed.toJSON();
  const gone = removed.map((one) => (/^[0-9a-f]{64}$/.test(one) ? one : readPublicKey(one).keyID));
  const before: string[] = root.roles[role].keyids;
  const strange = gone.find((id) => !before.includes(id));
  if (strange !== undefined) throw new Error(`${role} has no key ${strange}`);
  root.roles[role].keyids = gone.length === 0 ? [] : before.filter((id) => !gone.includes(id));
  for (const file of added) addKey(root, role, readPublicKey(file));
  if (threshold !== undefined) root.roles[role].threshold = threshold;
  dropUnusedKeys(root);
  assertSound(root);
  repository.stage("root", root);
  print("a new root is staged");
  const targets = repository.staged("targets") ?? repository.published("targets");
  if (role !== "targets" || !targets) return;
  repository.stage("targets", targets.signed.toJSON());
  print("the list of targets is staged, to be signed by the new keys");
}

function dropUnusedKeys(root: Json): void {
  const used = Object.values<Json>(root.roles).flatMap(({ keyids }) => keyids);
  for (const id of Object.keys(root.keys)) if (!used.includes(id)) delete root.keys[id];
}

/** Adds the signatures of these keys to all that is staged and that they may sign. */
export function addSignatures(
  repository: Repository,
  keys: readonly SigningKey[],
  print: Print,
): void {
  let signed = 0;
  for (const role of ["root", "targets"] as const) {
    const document = repository.staged(role);
    if (!document) continue;
    for (const key of keysThatMay(repository, role, keys)) {
      document.sign((bytes) => key.sign(bytes), true);
      signed += 1;
    }
    repository.keepSigned(role, document);
    for (const line of linesMissing(repository, role)) print(`${role}: ${line}`);
    if (linesMissing(repository, role).length === 0) print(`${role}: has all its signatures`);
  }
  if (signed === 0) throw new Error("nothing is staged that these keys may sign");
}

function keysThatMay(
  repository: Repository,
  role: StagedRole,
  keys: readonly SigningKey[],
): readonly SigningKey[] {
  const byNew = keysFor(repository.nextRoot(), role, keys);
  const published = role === "root" ? repository.published("root") : undefined;
  const byOld = published ? keysFor(published, role, keys) : [];
  return [...new Set([...byNew, ...byOld])];
}

/** What a staged document still needs: a root, by the keys before it and by its own. */
function linesMissing(repository: Repository, role: StagedRole): string[] {
  const document = repository.staged(role) as Documents[StagedRole];
  const before = role === "root" ? repository.published("root") : undefined;
  return [before, repository.nextRoot()].flatMap((by) => {
    const missing = by && missingSignatures(by, role, document);
    return missing === undefined ? [] : [missing];
  });
}

/** A snapshot is made anew when it holds for fewer days than this. */
const SNAPSHOT_DAYS_MIN = 16;

/**
 * Publishes what has its signatures, and a new timestamp in any case. Everything is checked before
 * the first file is written; the timestamp comes last, because it is what clients begin with.
 */
export function refresh(repository: Repository, keys: readonly SigningKey[], print: Print): void {
  const root = readyOf(repository, "root", print);
  const targets = readyOf(repository, "targets", print);
  const refused = missingSignatures(root, "targets", targets);
  if (refused !== undefined) throw new Error(`nothing is published: ${refused}`);
  for (const role of ["snapshot", "timestamp"] as const) {
    if (keysFor(root, role, keys).length === 0) throw new Error(`no key for ${role} is given`);
  }
  repository.publish("root", root);
  repository.publish("targets", targets);
  const snapshot = nextSnapshot(repository, root, targets, keys);
  const version = (repository.published("timestamp")?.signed.version ?? 0) + 1;
  const meta = { "snapshot.json": repository.metaOf("snapshot", snapshot) };
  repository.publish("timestamp", signedOnline("timestamp", version, meta, root, keys));
  if (repository.staged("root")?.signed.version === root.signed.version) {
    repository.endStaging("root");
  }
  if (repository.staged("targets")?.signed.version === targets.signed.version) {
    repository.endStaging("targets");
  }
  const { version: ofTargets } = targets.signed;
  print(`published: root ${root.signed.version}, targets ${ofTargets}, timestamp ${version}`);
}

/** The staged document when it has all its signatures, else the published one. */
function readyOf<R extends StagedRole>(
  repository: Repository,
  role: R,
  print: Print,
): Documents[R] {
  const staged = repository.staged(role);
  if (staged && linesMissing(repository, role).length === 0) return staged;
  if (staged) print(`${role} stays staged: ${linesMissing(repository, role).join("; ")}`);
  const published = repository.published(role);
  if (published) return published;
  throw new Error(`${role} was never published, and what is staged lacks signatures`);
}

function nextSnapshot(
  repository: Repository,
  root: Metadata<Root>,
  targets: Documents["targets"],
  keys: readonly SigningKey[],
): Documents["snapshot"] {
  const before = repository.published("snapshot");
  const isSame = before?.signed.meta["targets.json"]?.version === targets.signed.version;
  const holds = before && missingSignatures(root, "snapshot", before) === undefined;
  if (before && isSame && holds && daysLeft(before) > SNAPSHOT_DAYS_MIN) return before;
  const meta = { "targets.json": repository.metaOf("targets", targets) };
  const version = (before?.signed.version ?? 0) + 1;
  const next = signedOnline("snapshot", version, meta, root, keys);
  repository.publish("snapshot", next);
  return next;
}

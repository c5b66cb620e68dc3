import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { type ReleaseNote, releaseSchema, runtimeSchema } from "../../src/update/release.ts";
import { unpack } from "../../src/update/unpack.ts";
import { makeTarGz } from "../release/archives.ts";
import { notesIn } from "../release/publisher.ts";
import type { Repository } from "./repository.ts";

/* The list of targets: docs/updates.md 3.1 and 5.3. Every change is staged, to be signed. */

interface Target {
  readonly length: number;
  readonly hashes: Readonly<Record<string, string>>;
  readonly custom?: unknown;
}
type Targets = Record<string, Target>;

const deliverySchema = z.object({
  version: z.string(),
  platform: z.string(),
  supportedUntil: z.string().optional(),
  testValues: z.boolean().default(false),
});

interface Addition {
  /** An unpacked delivery of one platform: the folder with `versions` and `runtimes`. */
  readonly from: string;
  readonly channel: string;
  readonly share: number;
  readonly follows: string;
  readonly notBefore: string;
  /** Missing: the section of the version in the delivery's CHANGELOG.md. */
  readonly notes?: string | undefined;
  /** Whether a delivery with test values is taken. */
  readonly testValues?: boolean;
}

/** Adds a release: its programs, and its runtime unless that is there already. */
export async function addRelease(repository: Repository, addition: Addition): Promise<string> {
  const { from, channel, share, follows, notBefore } = addition;
  const [name = "", ...others] = readdirSync(join(from, "versions")).filter((entry) =>
    existsSync(join(from, "versions", entry, "complete")),
  );
  if (others.length > 0) throw new Error(`${from} holds several versions`);
  const folder = join(from, "versions", name);
  const delivery = deliverySchema.parse(jsonIn(folder, "delivery.json"));
  const { version, platform, supportedUntil } = delivery;
  if (delivery.testValues && !addition.testValues) {
    throw new Error(`${from} was built with --test-values: kiosks would have no publisher`);
  }
  const runtimeName = readFileSync(join(folder, "runtime"), "utf8").trim();
  const runtime = `runtimes/${runtimeName}/${platform}.tar.gz`;
  const programs = `programs/${version}/${platform}.tar.gz`;
  const note = releaseSchema.parse({
    kind: "programs",
    version,
    platform,
    channels: { [channel]: share },
    follows,
    notBefore,
    withdrawn: false,
    replaces: [],
    notes: addition.notes ?? changelogNotes(folder, version),
    ...(supportedUntil === undefined ? {} : { supportedUntil }),
    runtime,
  });
  const runtimeNote = runtimeSchema.parse({ kind: "runtime", platform, name: runtimeName });
  const targets = targetsOf(repository);
  if (targets[programs]) throw new Error(`${programs} is there already: a version never changes`);
  const date = statSync(join(folder, "complete")).mtime;
  targets[programs] = await addFile(repository, folder, programs, date, note);
  const runtimeFolder = join(from, "runtimes", runtimeName);
  targets[runtime] ??= await addFile(repository, runtimeFolder, runtime, date, runtimeNote);
  stageTargets(repository, targets);
  return `${programs} and ${runtime}`;
}

function changelogNotes(folder: string, version: string): string {
  const file = join(folder, "CHANGELOG.md");
  return existsSync(file) ? (notesIn(readFileSync(file, "utf8"), version) ?? "") : "";
}

/** Packs a folder, unpacks it as a kiosk would, and puts it where clients look for it. */
async function addFile(
  repository: Repository,
  folder: string,
  path: string,
  date: Date,
  custom: ReleaseNote | object,
): Promise<Target> {
  const work = mkdtempSync(join(tmpdir(), "updates-"));
  try {
    const archive = join(work, "target.tar.gz");
    await makeTarGz(folder, ".", archive, date);
    const hasMark = existsSync(join(folder, "complete"));
    await unpack({ archive, to: join(work, "kiosk"), hasMark });
    const sha256 = createHash("sha256").update(readFileSync(archive)).digest("hex");
    const file = path.replace(/[^/]+$/, (name) => `${sha256}.${name}`);
    const to = join(repository.folder, "targets", file);
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(archive, to);
    return { length: statSync(archive).size, hashes: { sha256 }, custom };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Lets a channel have a version, or gives it another share there. */
export function setShare(
  repository: Repository,
  version: string,
  channel: string,
  share: number,
  isNew: boolean,
): void {
  changeReleases(repository, version, (note) => {
    const isThere = Object.hasOwn(note.channels, channel);
    if (isThere === isNew) {
      throw new Error(`${version} is ${isThere ? "already" : "not"} on the channel ${channel}`);
    }
    return { ...note, channels: { ...note.channels, [channel]: share } };
  });
}

/** Stops a version; `backTo` marks an older one as the way back for those who have it. */
export function withdraw(repository: Repository, version: string, backTo?: string): void {
  changeReleases(repository, version, (note) => ({ ...note, withdrawn: true }));
  if (backTo === undefined) return;
  changeReleases(repository, backTo, (note) => {
    return { ...note, replaces: [...new Set([...note.replaces, version])] };
  });
}

function changeReleases(
  repository: Repository,
  version: string,
  change: (note: ReleaseNote) => ReleaseNote,
): void {
  const targets = targetsOf(repository);
  let changed = 0;
  for (const [path, target] of Object.entries(targets)) {
    const note = releaseSchema.safeParse(target.custom).data;
    if (note?.version !== version) continue;
    targets[path] = { ...target, custom: releaseSchema.parse(change(note)) };
    changed += 1;
  }
  if (changed === 0) throw new Error(`there is no release ${version}`);
  stageTargets(repository, targets);
}

function targetsOf(repository: Repository): Targets {
  const document = repository.staged("targets") ?? repository.published("targets");
  if (!document) throw new Error(`${repository.folder} is no repository: init makes one`);
  return document.signed.toJSON()["targets"] as unknown as Targets;
}

function stageTargets(repository: Repository, targets: Targets): void {
  const document = repository.staged("targets") ?? repository.published("targets");
  repository.stage("targets", { ...document?.signed.toJSON(), targets });
}

function jsonIn(folder: string, name: string): unknown {
  return JSON.parse(readFileSync(join(folder, name), "utf8"));
}

import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { projectRoot } from "../../src/shared/version-files.ts";
import { readState } from "../../src/update/update-state.ts";
import type { DiskRecord } from "../crash/power/disk-record.ts";
import { RecordedDisk } from "../crash/power/recorded-disk.ts";
import { Recorder } from "../crash/power/recorder.ts";
import { Random } from "../support/inputs/random.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { Publisher } from "../support/programs/publisher.ts";
import { contentOf } from "./content-of.ts";
import { dataIn, finish, ledger, payments, run } from "./switch-program.ts";
import { FROM, filesOf, runningAt, runtimes, TO, takeReady, writeFiles } from "./update-path.ts";

/*
 * Power cuts over the whole path of an update, from the check to its end (docs/updates.md 4.7).
 * What the update's program did to the disk is recorded once; each cut is a disk as it may be found
 * after it, on which the next keep-alive and the next night do their work.
 */

type Files = ReadonlyMap<string, Buffer>;
type Course = "works" | "fails";

export interface Recording {
  readonly course: Course;
  readonly before: Files;
  readonly records: readonly DiskRecord[];
}

/** What follows a cut. */
interface Outcome {
  readonly runs: string;
  readonly broken: string[];
}

export interface CutCounts {
  cuts: number;
  /** By the version that ran after the next keep-alive. */
  readonly ran: Record<string, number>;
  readonly violations: string[];
}

/** The publisher's repository with the version that is taken, and kiosks that look there. */
export class UpdatePath {
  readonly #folder = mkdtempSync(join(tmpdir(), "utc-path-"));
  readonly #ends: Array<() => void> = [];
  readonly #publisher: Publisher;
  /** By the course and the files that the cut has left. */
  readonly #outcomes = new Map<string, Outcome>();
  #url = "";

  constructor() {
    this.#publisher = new Publisher(join(this.#folder, "publisher"));
  }

  async begin(): Promise<this> {
    const delivery = join(this.#folder, "delivery");
    writeFiles(delivery, filesOf(TO));
    await this.#publisher.publish(delivery);
    this.#url = await this.#publisher.serve((close) => this.#ends.push(close));
    return this;
  }

  end(): void {
    for (const end of this.#ends) end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** What an update of a kiosk does to its disk. */
  async record(library: string, course: Course): Promise<Recording> {
    const root = this.#kiosk();
    const before = filesBelow(root);
    const records = await recorded(library, root, [root, this.#url, course]);
    const runs = course === "works" ? TO : FROM;
    if (versionAt(root) !== runs) throw new Error(`without a cut ${runs} would run`);
    return { course, before, records };
  }

  /** Cuts the power `times` times at random, each time with another disk after it. */
  async cutAtRandom(recording: Recording, times: number, seed: number): Promise<CutCounts> {
    const random = new Random(seed);
    const { length } = recording.records;
    const moments = Array.from({ length: times }, () => random.between(0, length));
    return await this.cutAt(recording, moments, random);
  }

  /** Cuts the power at these moments; each is a number of records that were carried out before. */
  async cutAt(
    { course, before, records }: Recording,
    moments: readonly number[],
    random: Random,
  ): Promise<CutCounts> {
    const counts: CutCounts = { cuts: 0, ran: {}, violations: [] };
    for (const { files, where } of cutsOf(before, records, moments, random)) {
      await this.#count(counts, files, course, where);
    }
    return counts;
  }

  /**
   * Cuts the power at these moments and once more, at most at `each` moments between steps, while
   * the next launcher ends what the first cut has left.
   */
  async cutTwice(
    library: string,
    { course, before, records }: Recording,
    moments: readonly number[],
    { random, each }: { readonly random: Random; readonly each: number },
  ): Promise<CutCounts> {
    const counts: CutCounts = { cuts: 0, ran: {}, violations: [] };
    const folder = mkdtempSync(join(this.#folder, "twice-"));
    const firsts = [...cutsOf(before, records, moments, random)].map(({ files, where }, i) => {
      const root = join(folder, String(i));
      writeFiles(root, Object.fromEntries(files));
      mkdirSync(dataIn(root), { recursive: true });
      return { files, where, name: String(i), root };
    });
    const roots = firsts.map(({ root }) => root);
    const all = await recorded(library, folder, ["finish", course, ...roots]);
    rmSync(folder, { recursive: true, force: true });
    for (const { files, where, name } of firsts) {
      const ending = recordsBelow(all, name);
      const seconds = some(stepMoments({ records: ending }), each, random);
      for (const second of cutsOf(files, ending, seconds, random)) {
        await this.#count(counts, second.files, course, `${where}; then ${second.where}`);
      }
    }
    return counts;
  }

  async #count(counts: CutCounts, files: Files, course: Course, where: string): Promise<void> {
    const disk = `${course} ${contentOf(files)}`;
    const outcome = this.#outcomes.get(disk) ?? (await this.#afterwards(files, course));
    this.#outcomes.set(disk, outcome);
    const { runs, broken } = outcome;
    counts.cuts++;
    counts.ran[runs] = (counts.ran[runs] ?? 0) + 1;
    counts.violations.push(...broken.map((sentence) => `${course}, ${where}: ${sentence}`));
  }

  /** A kiosk that has sold something with the older version. */
  #kiosk(): string {
    const root = mkdtempSync(join(this.#folder, "kiosk-"));
    writeFiles(root, { ...filesOf(FROM), current: `${FROM}\n` });
    cpSync(join(projectRoot, "scripts/delivery/launch.sh"), join(root, "launch.sh"));
    cpSync(this.#publisher.trustedRoot, join(root, "versions", FROM, "trusted-root.json"));
    mkdirSync(dataIn(root));
    run(root, FROM);
    return root;
  }

  /** The sentences that do not hold once the next keep-alive and the next night have come. */
  async #afterwards(files: Files, course: Course): Promise<Outcome> {
    const root = mkdtempSync(join(this.#folder, "disk-"));
    try {
      writeFiles(root, Object.fromEntries(files));
      mkdirSync(dataIn(root), { recursive: true });
      return await this.#keptAlive(root, course);
    } catch (error) {
      return { runs: "none", broken: [`it throws: ${(error as Error).stack}`] };
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  }

  async #keptAlive(root: string, course: Course) {
    const named = versionAt(root);
    await finish(root, course === "works");
    const runs = versionAt(root);
    const broken = [...partsMissing(root, named), ...partsMissing(root, runs)];
    run(root, runs);
    broken.push(...lost(root, runs));
    const update = join(dataIn(root), "update");
    for (const name of ["under-way.json", "probation"]) {
      if (existsSync(join(update, name))) broken.push(`${name} is left`);
    }
    const { barred } = readState(dataIn(root));
    if (barred.length > 0 && course === "works") broken.push("a cut bars the version");
    if (barred.length === 0) broken.push(...(await this.#nextNight(root, runs)));
    return { runs, broken };
  }

  /** Whatever the cut has left, the version is found and taken by the next check. */
  async #nextNight(root: string, version: string): Promise<string[]> {
    const { version: found } = await runningAt(root, this.#url, version);
    if (version === TO) return found === undefined ? [] : [`${found} is newer than ${TO}`];
    await takeReady(root, true);
    const runs = versionAt(root);
    run(root, runs);
    return [
      ...(runs === TO ? [] : [`the next night leaves ${runs}`]),
      ...partsMissing(root, runs),
      ...lost(root, runs),
    ];
  }
}

/** The changes that the program of an update makes below a folder, with paths below it. */
async function recorded(
  library: string,
  folder: string,
  args: readonly string[],
): Promise<DiskRecord[]> {
  const recorder = new Recorder(library, folder);
  const script = join(import.meta.dirname, "update-path.ts");
  const env = { ...process.env, ...recorder.environment };
  await runToEnd(process.execPath, [script, ...args], { env });
  const records = recorder.take();
  recorder.close();
  return recordsBelow(records, folder);
}

/** The changes below a folder, with paths below it. */
function recordsBelow(records: readonly DiskRecord[], folder: string): DiskRecord[] {
  const below = (path: string): string => relative(folder, path) || ".";
  return records.flatMap((each) => {
    if (each.what === "send" || each.what === "receive") return [];
    const path = below(each.path);
    if (path.startsWith("..")) return [];
    const data = each.what === "rename" ? Buffer.from(below(`${each.data}`)) : each.data;
    return [{ ...each, path, data }];
  });
}

function some(moments: readonly number[], count: number, random: Random): number[] {
  const drawn = moments.map((moment) => ({ moment, at: random.next() }));
  const inOrder = drawn.sort((a, b) => a.at - b.at);
  return inOrder.slice(0, count).map(({ moment }) => moment);
}

/** A disk as it may be found after each of the moments. */
function* cutsOf(
  before: Files,
  records: readonly DiskRecord[],
  moments: readonly number[],
  random: Random,
): Generator<{ readonly files: Files; readonly where: string }> {
  const disk = new RecordedDisk(before);
  const sorted = moments.toSorted((a, b) => a - b);
  for (let moment = 0; moment <= records.length; moment++) {
    const { what, path } = records[moment] ?? { what: "end", path: "" };
    for (; sorted[0] === moment; sorted.shift()) {
      const how = random.pick(["the power", "the power", "the process"] as const);
      const files = how === "the power" ? disk.afterPowerCut(random) : disk.afterKill();
      yield { files, where: `${how} before ${moment} (${what} ${path})` };
    }
    const record = records[moment];
    if (record) disk.apply(record);
  }
}

function filesBelow(folder: string): Map<string, Buffer> {
  const names = readdirSync(folder, { recursive: true }).map(String);
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(join(folder, name))]));
}

/** The version that the script at the root of the delivery runs. */
function versionAt(root: string): string {
  return execFileSync("sh", [join(root, "launch.sh")])
    .toString()
    .trim();
}

/** A version that is run has to be whole, with its runtime. */
function partsMissing(root: string, version: string): string[] {
  if (!Object.hasOwn(runtimes, version)) return [`${version} is no version of ours`];
  const files = Object.entries(filesOf(version as keyof typeof runtimes));
  return files
    .filter(([path, content]) => {
      const file = join(root, path);
      return !existsSync(file) || readFileSync(file, "utf8") !== content;
    })
    .map(([path]) => `${version} runs without ${path}`);
}

/** Every payment that was answered is in both stores, and none twice. */
function lost(root: string, version: string): string[] {
  const sold = payments(root, version);
  const wanted = ledger(root);
  const missing = wanted.filter((id) => !sold.includes(id));
  return [
    ...(wanted.length > 0 ? [] : ["the ledger is gone"]),
    ...(missing.length > 0 ? [`payments are lost: ${missing.join(", ")}`] : []),
  ];
}

/** The moments just before and just after each step is written down. */
export function stepMoments({ records }: Pick<Recording, "records">): number[] {
  const isStep = ({ what, path, data }: DiskRecord): boolean =>
    (what === "rename" && /(under-way|last|ready|state)\.json$/.test(`${data}`)) ||
    (what === "rename" && /(current|previous)$/.test(`${data}`)) ||
    (what === "unlink" && /(under-way\.json|ready\.json|probation|untouched)$/.test(path));
  return records.flatMap((record, i) => (isStep(record) ? [i, i + 1] : []));
}

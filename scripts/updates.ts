/**
 * The publisher's tool (docs/updates.md 5.2):
 *   npm run updates -- key FILE [--p256]
 *   npm run updates -- init DIR --root PUB... --targets PUB... --snapshot PUB --timestamp PUB
 *     [--root-threshold N] [--targets-threshold N]
 *   npm run updates -- add DIR --from FOLDER --channel C --share PERCENT
 *     [--follows X.Y.Z] [--not-before TIME] [--notes TEXT] [--test-values]
 *   npm run updates -- share DIR --version X.Y.Z --channel C --share PERCENT
 *   npm run updates -- promote DIR --version X.Y.Z --channel C --share PERCENT
 *   npm run updates -- withdraw DIR --version X.Y.Z [--back-to X.Y.Z]
 *   npm run updates -- sign DIR --key FILE...
 *   npm run updates -- sign-release FOLDER --key FILE...
 *   npm run updates -- refresh DIR --key FILE... [--renew root|targets]
 *   npm run updates -- rotate-key ROLE DIR --new PUB... [--old PUB|ID...] [--threshold N]
 *   npm run updates -- rotate-root DIR --new PUB... [--old PUB|ID...] [--threshold N]
 *   npm run updates -- verify DIR [--trusted-root FILE]
 *   An option with ... is given once for each value: --key FILE --key FILE
 * Without a threshold `init` takes 2, the least that docs/updates.md 5.1 allows.
 */
import { join } from "node:path";
import { isoTime, systemClock } from "../src/shared/time.ts";
import { misused, readArguments } from "./command-line.ts";
import { signSums } from "./release/sums.ts";
import { makeKey, openKey, type SigningKey } from "./updates/keys.ts";
import { passphraseOf } from "./updates/passphrase.ts";
import { addRelease, setShare, withdraw } from "./updates/releases.ts";
import { Repository, type Role } from "./updates/repository.ts";
import { addSignatures, begin, refresh, rotate } from "./updates/trust.ts";
import { verify } from "./updates/verify.ts";

/** How many persons sign, at least: docs/updates.md 5.1. */
const THRESHOLD = 2;
const many = { type: "string", multiple: true, default: [] as string[] } as const;
const one = { type: "string" } as const;
const { values, positionals } = readArguments({
  allowPositionals: true,
  options: {
    root: many,
    targets: many,
    snapshot: many,
    timestamp: many,
    key: many,
    new: many,
    old: many,
    from: one,
    channel: one,
    share: one,
    follows: one,
    notes: one,
    "test-values": { type: "boolean", default: false },
    p256: { type: "boolean", default: false },
    version: one,
    threshold: one,
    renew: one,
    "not-before": one,
    "back-to": one,
    "root-threshold": one,
    "targets-threshold": one,
    "trusted-root": one,
  },
});
type Single = Exclude<
  keyof typeof values,
  "root" | "targets" | "snapshot" | "timestamp" | "key" | "new" | "old" | "test-values" | "p256"
>;

function needed(name: Single): string {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is missing`);
  return value;
}

function percent(): number {
  const share = Number(needed("share"));
  if (Number.isInteger(share) && share >= 0 && share <= 100) return share;
  throw new Error("--share is a whole number from 0 to 100");
}

function countOf(name: "threshold" | "root-threshold" | "targets-threshold"): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw new Error(`--${name} is a number from 1 to 99`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function givenKeys(): Promise<SigningKey[]> {
  const keys: SigningKey[] = [];
  for (const file of values.key) keys.push(openKey(file, await passphraseOf(file)));
  if (keys.length === 0) throw new Error("--key is missing");
  return keys;
}

function renew(repository: Repository): void {
  if (values.renew === undefined) return;
  if (values.renew !== "root" && values.renew !== "targets")
    throw new Error("--renew root|targets");
  const document = repository.staged(values.renew) ?? repository.published(values.renew);
  if (!document) throw new Error(`${values.renew} is not there`);
  repository.stage(values.renew, document.signed.toJSON());
  print(`${values.renew} is staged with a new expiry, to be signed`);
}

async function sign(repository: Repository): Promise<void> {
  addSignatures(repository, await givenKeys(), print);
}

function rotation(repository: Repository, role: string): void {
  const isKnown = ["root", "targets", "snapshot", "timestamp"].includes(role);
  if (!isKnown || values.new.length === 0) throw new Error("ROLE, and --new PUB");
  const threshold = countOf("threshold");
  const change = { role: role as Role, added: values.new, removed: values.old, threshold };
  rotate(repository, change, print);
}

async function add(repository: Repository): Promise<void> {
  const added = await addRelease(repository, {
    from: needed("from"),
    channel: needed("channel"),
    share: percent(),
    follows: values.follows ?? "0.0.0",
    notBefore: values["not-before"] ?? isoTime(systemClock.now()),
    notes: values.notes,
    testValues: values["test-values"],
  });
  print(`staged: ${added}`);
}

async function run(command: string | undefined, args: readonly string[]): Promise<void> {
  const last = args.at(-1);
  if (command === undefined || last === undefined) misused();
  // A value without its option would be taken for DIR.
  if (args.length !== (command === "rotate-key" ? 2 : 1)) misused(`wrong arguments: ${args}\n`);
  if (command === "key") {
    return print(makeKey(last, await passphraseOf(last), values.p256 ? "p256" : "ed25519"));
  }
  if (command === "sign-release") return signSums(last, await givenKeys(), print);
  const repository = new Repository(last);
  switch (command) {
    case "init": {
      const { root, targets, snapshot, timestamp } = values;
      const ofRoot = countOf("root-threshold") ?? THRESHOLD;
      const thresholds = { root: ofRoot, targets: countOf("targets-threshold") ?? THRESHOLD };
      begin(repository, { keys: { root, targets, snapshot, timestamp }, thresholds });
      return print("root and targets are staged, to be signed");
    }
    case "add":
      return await add(repository);
    case "sign":
      return await sign(repository);
    case "share":
    case "promote": {
      const [version, channel] = [needed("version"), needed("channel")];
      setShare(repository, version, channel, percent(), command === "promote");
      return print("the list of targets is staged, to be signed");
    }
    case "withdraw":
      withdraw(repository, needed("version"), values["back-to"]);
      return print("the list of targets is staged, to be signed");
    case "refresh":
      renew(repository);
      return refresh(repository, await givenKeys(), print);
    case "rotate-key":
      return rotation(repository, args[0] ?? "");
    case "rotate-root":
      return rotation(repository, "root");
    case "verify": {
      const first = join(repository.folder, "metadata", "1.root.json");
      return await verify(repository, values["trusted-root"] ?? first, print);
    }
    default:
      misused();
  }
}

try {
  const [command, ...args] = positionals;
  await run(command, args);
} catch (error) {
  process.stderr.write(`updates: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

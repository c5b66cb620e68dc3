/**
 * Builds a release twice from this commit, as two strangers would, and compares every file:
 *   node scripts/rebuild.ts [--platform linux-x64|linux-arm64|win-x64 ...]
 * The builders have different folders, umasks, time zones, languages and homes, and the second is
 * another user when root calls. Each installs the packages of the lock file itself, so the
 * registry has to answer. docs/supply-chain.md describes what a release is built from.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { projectRoot } from "../src/shared/version-files.ts";
import { ReleaseKeys } from "../test/support/files/release-folder.ts";
import { readArguments } from "./command-line.ts";
import { platforms } from "./release/platforms.ts";

interface Builder {
  readonly folder: string;
  readonly umask: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly isNobody: boolean;
}

const { values } = readArguments({
  options: {
    platform: { type: "string", multiple: true, default: Object.keys(platforms) },
  },
});
const work = mkdtempSync(join(tmpdir(), "rebuild-"));
const isRoot = process.getuid?.() === 0;
const builders: readonly Builder[] = [
  {
    folder: join(work, "a"),
    umask: "022",
    environment: { TZ: "UTC", LANG: "C", LC_ALL: "C" },
    isNobody: false,
  },
  {
    folder: join(work, "ein zweiter", "für später"),
    umask: "077",
    environment: { TZ: "Pacific/Auckland", LANG: "de_DE.UTF-8", LC_ALL: "de_DE.UTF-8" },
    isNobody: isRoot,
  },
];
try {
  execFileSync("chmod", ["755", work]);
  mkdirSync(join(work, "keys"));
  const trusted = new ReleaseKeys(join(work, "keys")).root();
  execFileSync("chmod", ["-R", "a+rX", join(work, "keys")]);
  const [first = {}, second = {}] = builders.map((builder) => build(builder, trusted));
  const names = [...new Set([...Object.keys(first), ...Object.keys(second)])].sort();
  for (const name of names) {
    const isSame = first[name] === second[name];
    process.stdout.write(`${isSame ? "same" : "DIFFERS"} ${first[name]} ${name}\n`);
    if (!isSame) process.exitCode = 1;
  }
  process.stdout.write(`${names.length} files from two builders${isRoot ? ", two users" : ""}\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Returns the SHA-256 of each file of the release that a builder makes. */
function build(builder: Builder, trusted: string): Readonly<Record<string, string>> {
  const { folder, isNobody } = builder;
  mkdirSync(dirname(folder), { recursive: true });
  const noAdvice = ["-c", "advice.detachedHead=false"];
  execFileSync("git", [...noAdvice, "clone", "--quiet", projectRoot, folder]);
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: projectRoot });
  execFileSync("git", ["checkout", "--quiet", commit.toString().trim()], { cwd: folder });
  if (isNobody) execFileSync("chown", ["-R", "nobody", dirname(folder)]);
  const path = `${dirname(process.execPath)}:${process.env["PATH"]}`;
  run(builder, ["npm", "ci", "--no-audit", "--no-fund"], path);
  const release = ["npm", "run", "release", "--", "--version", "9.9.9", "--test-values"];
  const promises = ["--contact", "security@publisher.invalid", "--supported-until", "2099-12-31"];
  const chosen = values.platform.flatMap((name) => ["--platform", name]);
  run(builder, [...release, ...promises, "--trusted-root", trusted, ...chosen], path);
  const out = join(folder, "dist");
  const hashes = readdirSync(out).map((name) => {
    const hash = createHash("sha256").update(readFileSync(join(out, name)));
    return [name, hash.digest("hex")];
  });
  return Object.fromEntries(hashes);
}

/** Runs a command as that builder, in the builder's checkout. */
function run(builder: Builder, command: readonly string[], path: string): void {
  const { folder, umask, environment, isNobody } = builder;
  const home = dirname(folder);
  const own = isNobody ? { HOME: home, TMPDIR: home, npm_config_cache: join(home, "cache") } : {};
  const user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"];
  const line = ["-c", `umask ${umask}; exec "$@"`, "sh", ...(isNobody ? user : []), ...command];
  execFileSync("sh", line, {
    cwd: folder,
    env: {
      ...process.env,
      ...environment,
      ...own,
      npm_config_update_notifier: "false",
      PATH: path,
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

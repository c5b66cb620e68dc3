/**
 * A plain TUF client on the updater's code, so that others can check it (docs/updates.md 2.6):
 *   scripts/tuf-client --metadata-dir D init ROOT
 *   scripts/tuf-client --metadata-dir D --metadata-url U refresh
 *   scripts/tuf-client --metadata-dir D --metadata-url U download
 *     --target-name T (repeatable) --target-base-url B --target-dir P
 * `--ca-file F` names the root certificates of U and B. Exit code 0 or 1; 64: a word that is no
 * option. Trusted metadata lie in D under unversioned names.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { certificatesIn } from "../src/shared/config/server-trust.ts";
import { systemClock } from "../src/shared/time.ts";
import { MetadataStore, withTargets } from "../src/update/tuf-client.ts";
import { readArguments } from "./command-line.ts";

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: {
    "metadata-dir": { type: "string" },
    "metadata-url": { type: "string" },
    "target-name": { type: "string", multiple: true },
    "target-base-url": { type: "string" },
    "target-dir": { type: "string" },
    "ca-file": { type: "string" },
  },
});

function needed(name: Exclude<keyof typeof values, "target-name">): string {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is missing`);
  return value;
}

function storeSettings() {
  const alarm = (message: string): void => void process.stderr.write(`tuf-client: ${message}\n`);
  return { folder: resolve(needed("metadata-dir")), alarm };
}

function client() {
  const ca = certificatesIn("--ca-file", values["ca-file"]);
  return {
    ...storeSettings(),
    ca,
    clock: systemClock,
    metadataUrl: needed("metadata-url"),
    builtMs: 0,
    remembersTime: false,
  };
}

const FILE_NAME_MAX = 200;

/** Returns the path of a target, always inside the folder and always the same. */
function fileOf(target: string): string {
  const name = encodeURIComponent(target).replace(/^\.+$/, "dots");
  const isLong = name.length > FILE_NAME_MAX;
  const short = isLong ? createHash("sha256").update(target).digest("hex") : name;
  return join(resolve(needed("target-dir")), short);
}

async function run(): Promise<void> {
  const [command, root] = positionals;
  if (command === "init" && root !== undefined) {
    const { folder, alarm } = storeSettings();
    new MetadataStore(folder, alarm).begin(readFileSync(root));
    return;
  }
  if (command === "refresh") return withTargets(client(), () => Promise.resolve());
  if (command !== "download") throw new Error("init ROOT, refresh or download");
  const names = values["target-name"] ?? [];
  if (names.length === 0) throw new Error("--target-name is missing");
  await withTargets(client(), async (targets) => {
    for (const name of names) {
      const target = await targets.find(name);
      await targets.download(target, needed("target-base-url"), fileOf(name));
    }
  });
}

try {
  await run();
} catch (error) {
  process.stderr.write(`tuf-client: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

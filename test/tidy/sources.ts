import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Root of the repository, without a closing slash. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

export interface Source {
  /** Path from the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every file that git tracks or would add, below the given folders or files. */
export function repositoryFiles(...below: string[]): string[] {
  const listed = execFileSync(
    "git",
    ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", ...below],
    { cwd: root, encoding: "utf8" },
  );
  return [...new Set(listed.split("\0"))].filter((path) => path !== "");
}

let read: readonly Source[] | undefined;

/** The TypeScript sources of the project and its tests, read once in a worker. */
export function typescriptSources(): readonly Source[] {
  read ??= repositoryFiles("src", "test", "scripts", "vitest.config.ts")
    .filter((path) => /(?<!\.d)\.ts$/.test(path))
    .flatMap((path) => {
      try {
        return [{ path, text: readFileSync(`${root}/${path}`, "utf8") }];
      } catch {
        return []; // deleted in the work tree, still in the index
      }
    });
  return read;
}

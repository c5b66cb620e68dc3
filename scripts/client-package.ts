/**
 * Builds the client's package before `npm pack` in src/client: one ES module, the same as CommonJS,
 * and one file of types for each. A kiosk program needs no build step and none of our packages.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";

const root = join(import.meta.dirname, "..");
const sources = join(root, "src", "client");
const out = join(sources, "dist");

/** The parts of the package, without the file that puts them together. */
const parts = ["client", "customer-messages", "event-types"];

rmSync(out, { recursive: true, force: true });
mkdirSync(out);
await writeModules();
writeTypes();
cpSync(join(root, "LICENSE"), join(out, "LICENSE"));

async function writeModules(): Promise<void> {
  const build = await rolldown({
    input: join(sources, "index.ts"),
    platform: "neutral",
    tsconfig: false,
    transform: { target: "es2022" },
    logLevel: "warn",
  });
  for (const [format, file] of [
    ["esm", "index.js"],
    ["cjs", "index.cjs"],
  ] as const) {
    await build.write({ file: join(out, file), format });
  }
  await build.close();
}

/** The types of all parts in one file: a declaration file cannot name another one in both forms. */
function writeTypes(): void {
  const made = join(out, "types");
  const switches = ["--declaration", "--emitDeclarationOnly", "--noEmit", "false"];
  execFileSync(
    join(root, "node_modules", ".bin", process.platform === "win32" ? "tsc.cmd" : "tsc"),
    [
      "--ignoreConfig",
      "--outDir",
      made,
      ...switches,
      "--strict",
      "--target",
      "es2022",
      "--lib",
      "es2022,esnext.disposable,dom",
      "--types",
      "",
      "--module",
      "nodenext",
      "--allowImportingTsExtensions",
      join(sources, "index.ts"),
    ],
    { cwd: root, stdio: "inherit", shell: process.platform === "win32" },
  );
  const text = parts
    .map((part) => readFileSync(join(made, `${part}.d.ts`), "utf8"))
    .join("\n")
    .replaceAll(/^(?:import|export) .* from "\.\/.*";\n/gm, "");
  for (const file of ["index.d.ts", "index.d.cts"]) writeFileSync(join(out, file), text);
  rmSync(made, { recursive: true });
}

/** Copies of a program's modules that only import each other and the program's packages. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { programEntries, projectRoot } from "../../src/shared/version-files.ts";

/** An `import` or `export from` that is left when types are stripped, and its source. */
const IMPORTS = /^(?:import|export)\b(?! type\b)(?:[^;"]*? from)? "([^"]+)"(?: with .*)?;$/gm;

/** What runs after the imports: a program that does nothing. */
const idle = `
import { flushCompileCache } from "node:module";
flushCompileCache();
setInterval(() => {}, 60_000);
console.log("is ready");
`;

/**
 * Writes the copies of all modules that a program imports before it runs below a folder. Returns
 * the script that loads them, and their number.
 */
export function emptySources(folder: string, name: keyof typeof programEntries) {
  mkdirSync(folder, { recursive: true });
  symlinkSync(join(projectRoot, "node_modules"), join(folder, "node_modules"), "dir");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const copied = new Set<string>();
  const copy = (file: string): void => {
    if (copied.has(file)) return;
    copied.add(file);
    const all = [...readFileSync(file, "utf8").matchAll(IMPORTS)].map(([, id = ""]) => id);
    const ids = all.filter((id) => !id.endsWith(".json"));
    const to = join(folder, relative(projectRoot, file));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, ids.map((id) => `import ${JSON.stringify(id)};\n`).join(""));
    for (const id of ids) if (id.startsWith(".")) copy(resolve(dirname(file), id));
  };
  const entry = `src/${programEntries[name]}`;
  copy(join(projectRoot, entry));
  const script = join(folder, `${name}.ts`);
  writeFileSync(script, `import "./${entry}";\n${idle}`);
  return { script, modules: copied.size };
}

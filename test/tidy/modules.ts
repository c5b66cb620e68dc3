import { posix } from "node:path";
import { parseSync } from "vite";
import { type Source, typescriptSources } from "./sources.ts";

/** One import or re-export of another module. */
interface Use {
  /** Path from the root for a file of the project, else the package as it is written. */
  readonly target: string;
  /** "*": everything that the module exports. */
  readonly name: string;
}

export interface Module {
  readonly path: string;
  readonly text: string;
  readonly uses: readonly Use[];
  /** Under the names that others import; the local name where the file declares it. */
  readonly exports: ReadonlyMap<string, { readonly local: string | null }>;
}

/** Imports and exports of every TypeScript file, types and dynamic imports included. */
export function modules(): Module[] {
  return typescriptSources().map(readModule);
}

function readModule({ path, text }: Source): Module {
  const { module } = parseSync(path, text);
  const uses: Use[] = [];
  const use = (request: string, name: string | null): void => {
    const target = request.startsWith(".") ? posix.join(posix.dirname(path), request) : request;
    uses.push({ target, name: name ?? "*" });
  };
  for (const { moduleRequest, entries } of module.staticImports) {
    if (entries.length === 0) use(moduleRequest.value, "*");
    for (const { importName } of entries) use(moduleRequest.value, nameOf(importName));
  }
  for (const [, request] of text.matchAll(/\bimport\("([^"]+)"\)/g)) use(request as string, "*");
  const exports = new Map<string, { local: string | null }>();
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest, importName, exportName, localName } of entries) {
      if (moduleRequest) use(moduleRequest.value, nameOf(importName));
      const name = nameOf(exportName);
      if (name) exports.set(name, { local: moduleRequest ? null : (localName.name ?? null) });
    }
  }
  return { path, text, uses, exports };
}

function nameOf({ kind, name }: { kind: string; name?: string | null }): string | null {
  return kind === "Default" ? "default" : (name ?? null);
}

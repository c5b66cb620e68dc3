import { posix } from "node:path";
import { parseSync } from "vite";
import { type Source, typescriptSources } from "./sources.ts";

/** One name that a module imports or re-exports from another one. */
interface Use {
  /** Path from the root for a file of the project, else the package as it is written. */
  readonly target: string;
  /** "*": everything that the module exports, or its side effects alone. */
  readonly name: string;
  /** Nothing is loaded for it when the program runs. */
  readonly typeOnly: boolean;
  /** The module hands the name on to the modules that import it. */
  readonly passedOn: boolean;
}

export interface Module {
  readonly path: string;
  readonly text: string;
  readonly uses: readonly Use[];
  /** Under the names that others import; the local name where the file declares it. */
  readonly exports: ReadonlyMap<string, { readonly local: string | null }>;
}

let parsed: readonly Module[] | undefined;

/**
 * Imports and exports of every TypeScript file, types and dynamic imports included; parsed once in
 * a worker.
 */
export function modules(): readonly Module[] {
  parsed ??= typescriptSources().map(readModule);
  return parsed;
}

function readModule({ path, text }: Source): Module {
  const { module, program } = parseSync(path, text);
  const uses: Use[] = [];
  const use = (request: string, name: string | null, start: number, passedOn = false): void => {
    const target = request.startsWith(".") ? posix.join(posix.dirname(path), request) : request;
    const typeOnly = /^(import|export) type\b/.test(text.slice(start, start + 20));
    uses.push({ target, name: name ?? "*", typeOnly, passedOn });
  };
  for (const { moduleRequest, entries, start } of module.staticImports) {
    if (entries.length === 0) use(moduleRequest.value, "*", start);
    for (const { importName } of entries) use(moduleRequest.value, nameOf(importName), start);
  }
  const exports = new Map<string, { local: string | null }>();
  for (const { entries, start } of module.staticExports) {
    for (const { moduleRequest, importName, exportName, localName } of entries) {
      if (moduleRequest) use(moduleRequest.value, nameOf(importName), start, true);
      const name = nameOf(exportName);
      if (name) exports.set(name, { local: moduleRequest ? null : (localName.name ?? null) });
    }
  }
  if (text.includes("import(")) {
    visit(program as unknown as Node, ({ type, source, start }) => {
      if (type !== "ImportExpression" && type !== "TSImportType") return;
      if (typeof source?.value === "string") use(source.value, "*", start);
    });
  }
  return { path, text, uses, exports };
}

/** A use, with the file that has it. */
export interface Import extends Use {
  readonly path: string;
}

export function importsOf(source: Source): Import[] {
  return importsIn(readModule(source));
}

/** The imports of every TypeScript file. */
export const everyImport = (): Import[] => modules().flatMap(importsIn);

function importsIn({ path, uses }: Module): Import[] {
  return uses.map((use) => ({ ...use, path }));
}

function nameOf({ kind, name }: { kind: string; name?: string | null }): string | null {
  return kind === "Default" ? "default" : (name ?? null);
}

/** A node of a parsed file, with what the rules read of it. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly name?: unknown;
  readonly source?: { readonly value?: unknown } | null;
  readonly computed?: boolean;
  readonly shorthand?: boolean;
  readonly id?: Node | null;
  readonly key?: Node | null;
  readonly property?: Node | null;
  readonly exported?: Node | null;
}

/** The text with its comments left out. */
export function withoutComments({ path, text }: Source): string {
  let end = 0;
  const kept: string[] = [];
  for (const comment of parseSync(path, text).comments) {
    kept.push(text.slice(end, comment.start));
    end = comment.end;
  }
  return [...kept, text.slice(end)].join(" ");
}

/** Each mention of a name in the code: no word of a comment or text, no member, no export list. */
export function namesIn({ path, text }: Source): string[] {
  const others = new Set<number>();
  const names = new Map<number, string>();
  visit(parseSync(path, text).program as unknown as Node, (node) => {
    const { type, name, start, computed, shorthand, key, property, exported } = node;
    if (!computed && !shorthand && key) others.add(key.start);
    if (!computed && property) others.add(property.start);
    if (type === "ExportSpecifier" && exported) others.add(start).add(exported.start);
    if (type === "Identifier" && typeof name === "string") names.set(start, name);
  });
  return [...names].flatMap(([start, name]) => (others.has(start) ? [] : [name]));
}

/** Sees a node and, unless `see` answers false, all that is in it. */
export function visit(node: Node, see: (node: Node) => unknown): void {
  if (see(node) === false) return;
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) visit(child, see);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

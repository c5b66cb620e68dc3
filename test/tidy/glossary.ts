import { parseSync } from "vite";
import { type Node, visit } from "./modules.ts";
import type { Source } from "./sources.ts";

/** A row of the table in docs/glossary.md: what is not written, and where. */
interface Row {
  /** Each is one word or a few, in lower case and without hyphens; a type stands as it is. */
  readonly forms: readonly string[];
  readonly where: "everywhere" | "names" | "types";
  readonly write: string;
  /** Phrases in which the word is meant as everybody means it. */
  readonly but: readonly string[];
  /** Words that stand in every sentence in which the word is right, such as who does it. */
  readonly besides: readonly string[];
  /** Folders and files in which the word is right. */
  readonly within: readonly string[];
}

export interface Hit {
  readonly path: string;
  readonly line: number;
  readonly form: string;
}

interface Piece {
  /** name: an identifier or path. member: one that is a key. text: a string. prose: the rest. */
  readonly kind: "name" | "member" | "text" | "prose";
  readonly start: number;
  readonly text: string;
}

/** The words of a piece and where each of them stands. */
interface Words {
  readonly all: readonly string[];
  readonly at: readonly number[];
  readonly indices: ReadonlyMap<string, readonly number[]>;
}

const unused = "Words that are not used";
const SENTENCE = "a sentence with ";

export function rowsOf(glossary: string): Row[] {
  return tableOf(glossary, unused).map(([forms = "", where = "", write = "", but = ""]) => {
    if (where !== "everywhere" && where !== "names" && where !== "types") {
      throw new Error(`docs/glossary.md: "${where}" is no place of "${forms}"`);
    }
    const list = (cell: string): string[] => cell.split(", ").filter(Boolean);
    const right = list(but);
    return {
      forms: list(forms),
      where,
      write,
      but: right.filter((one) => !one.startsWith(SENTENCE) && !one.startsWith("`")),
      besides: right
        .filter((one) => one.startsWith(SENTENCE))
        .map((one) => one.slice(SENTENCE.length)),
      within: right.filter((one) => one.startsWith("`")).map((one) => one.replaceAll("`", "")),
    };
  });
}

/** The terms in their order. */
export function termsOf(glossary: string): string[] {
  return tableOf(glossary, "Terms").map(([term = ""]) => term);
}

/** Stored names and texts that keep a word of the table, as data of older versions has them. */
export function storedNamesOf(glossary: string): string[] {
  const names = tableOf(glossary, "Names that stay").flatMap(([cell = ""]) => cell.split(", "));
  return names.map((name) => name.replaceAll("`", ""));
}

/** The glossary without its tables of words and names, which show them on purpose. */
export function withoutTables(glossary: string): string {
  return glossary.slice(0, glossary.indexOf(`## ${unused}`));
}

function tableOf(page: string, heading: string): string[][] {
  const part = page.split(/^(?=## )/m).find((one) => one.startsWith(`## ${heading}\n`)) ?? "";
  return [...part.matchAll(/^\| (.*) \|$/gm)]
    .slice(1)
    .map(([, row = ""]) => row.split("|").map((cell) => cell.trim()));
}

/** Every place where a file uses a word of the table and means no published name. */
export function hitsIn(source: Source, rows: readonly Row[], names: ReadonlySet<string>): Hit[] {
  const { path } = source;
  const text = [...names]
    .filter((name) => name.includes(" "))
    .reduce((all, stored) => all.replaceAll(stored, stored.replace(/\S/g, " ")), source.text);
  const pieces = /\.(ts|js)$/.test(path) ? codePieces({ path, text }) : pagePieces({ path, text });
  const searched = rowsIn(path, rows);
  return pieces.flatMap((piece) =>
    formsIn(piece, searched, names).map(({ form, at }) => {
      const line = text.slice(0, Math.max(0, piece.start) + at).split("\n").length;
      return { path, line: piece.start < 0 ? 0 : line, form };
    }),
  );
}

const byFile = new WeakMap<readonly Row[], Map<string, readonly Row[]>>();

/** The rows without those whose words are right in this file; files of the same rows share them. */
function rowsIn(path: string, rows: readonly Row[]): readonly Row[] {
  const without = rows.filter(({ within }) => within.some((one) => path.startsWith(one)));
  if (without.length === 0) return rows;
  const known = byFile.get(rows) ?? new Map<string, readonly Row[]>();
  byFile.set(rows, known);
  const key = without.map(({ forms }) => forms[0]).join();
  const found = known.get(key) ?? rows.filter((row) => !without.includes(row));
  known.set(key, found);
  return found;
}

function codePieces({ path, text }: Source): Piece[] {
  const { program, comments } = parseSync(path, text);
  const pieces: Piece[] = [{ kind: "name", start: -1, text: path.replace(/^src\/|\.\w+$/g, "") }];
  for (const { start, end } of joined(comments, text)) {
    pieces.push({ kind: "prose", start, text: text.slice(start, end) });
  }
  const imported = new Set<number>();
  const members = new Set<number>();
  const found = new Map<number, Piece>();
  visit(program as unknown as Node, (node) => {
    const { type, start, end, source, computed, key, property } = node;
    if (source && "start" in source) imported.add(source.start as number);
    if (!computed && key) members.add(key.start);
    if (!computed && property) members.add(property.start);
    const content = text.slice(start, end);
    if (/^(Identifier|PrivateIdentifier)$/.test(type)) {
      found.set(start, { kind: "name", start, text: /^[#\w$]+/.exec(content)?.[0] ?? "" });
    }
    const isText = type === "Literal" || type === "TemplateElement";
    if (isText && !imported.has(start)) found.set(start, { kind: "text", start, text: content });
  });
  for (const [start, piece] of found) {
    if (imported.has(start)) continue;
    const isMember = piece.kind === "name" && members.has(start);
    pieces.push(isMember ? { ...piece, kind: "member" } : piece);
  }
  return pieces;
}

/** Line comments below each other are one. */
function joined(
  comments: ReadonlyArray<{ type: string; start: number; end: number }>,
  text: string,
): Array<{ start: number; end: number }> {
  const found: Array<{ type: string; start: number; end: number }> = [];
  for (const { type, start, end } of comments) {
    const last = found.at(-1);
    const follows = last && /^\n *$/.test(text.slice(last.end, start));
    if (follows && type === "Line" && last.type === type) last.end = end;
    else found.push({ type, start, end });
  }
  return found;
}

function pagePieces({ text }: Source): Piece[] {
  return [{ kind: "prose", start: 0, text }];
}

function formsIn(
  piece: Piece,
  rows: readonly Row[],
  names: ReadonlySet<string>,
): Array<{ form: string; at: number }> {
  const text = withoutNames(piece, names);
  const words = wordsOf(text);
  const isName = piece.kind === "name" || piece.kind === "member";
  const byWord = byWordOf(rows);
  const perhaps = new Set([text, ...words.all].flatMap((word) => byWord.get(word) ?? []));
  return [...perhaps].flatMap(({ forms, where, but, besides }) => {
    if (where === "types") {
      return forms.filter((form) => isName && form === text).map((form) => ({ form, at: 0 }));
    }
    if (where === "names" && !isName) return [];
    const allowed = new Set(but.flatMap((phrase) => placesOf(phrase, words).flat()));
    return forms.flatMap((form) =>
      placesOf(form, words)
        .filter((place) => !place.some((index) => allowed.has(index)))
        .map(([first = 0]) => ({ form, at: words.at[first] ?? 0 }))
        .filter(({ at }) => besides.length === 0 || !sentenceHas(besides, text, at)),
    );
  });
}

/** Whether the sentence, cell or item around a place of the text has one of the words. */
function sentenceHas(besides: readonly string[], text: string, at: number): boolean {
  const ends = [...text.matchAll(/[.:;?!]["”`)*]*\s|\||\n\s*[*/]*\s*\n|\n\s*- |",?\n/g)];
  const from = ends.findLast(({ index }) => index < at)?.index ?? 0;
  const to = ends.find(({ index }) => index >= at)?.index ?? text.length;
  const { all } = wordsOf(text.slice(from, to));
  return besides.some((word) => all.includes(word));
}

const byWords = new WeakMap<readonly Row[], ReadonlyMap<string, readonly Row[]>>();

/** The rows under the first word of each of their forms: most texts have none of these words. */
function byWordOf(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  const known = byWords.get(rows);
  if (known) return known;
  const each = rows.flatMap((row) => row.forms.map((form) => ({ row, word: firstOf(form) })));
  const byWord = Map.groupBy(each, ({ word }) => word);
  const found = new Map([...byWord].map(([word, list]) => [word, list.map(({ row }) => row)]));
  byWords.set(rows, found);
  return found;
}

/** Between the words of a phrase, as between those of a text: "a person's" is person and s. */
const parting = /[ '-]/;

const firstOf = (phrase: string): string => phrase.split(parting, 1)[0] ?? "";

/** The indices of the words of each place where a phrase stands. */
function placesOf(phrase: string, { all, indices }: Words): number[][] {
  const parts = phrase.split(parting);
  return (indices.get(parts[0] ?? "") ?? []).flatMap((first) =>
    parts.every((part, n) => all[first + n] === part) ? [parts.map((_, n) => first + n)] : [],
  );
}

/** The words of a text and those of the names in it: `heldLate` is held and late. */
function wordsOf(text: string): Words {
  const found = [...text.matchAll(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)];
  const all = found.map(([word]) => word.toLowerCase());
  const indices = Map.groupBy(all.keys(), (index) => all[index] ?? "");
  return { all, at: found.map(({ index }) => index), indices };
}

const isCompound = (name: string): boolean => /[a-z][A-Z]|[A-Za-z][-_/][A-Za-z]|^\//.test(name);
const statement =
  /\b(SELECT|UPDATE|INSERT|DELETE|CREATE|WHERE|FROM|SET|ALTER|ORDER BY)\b|\b\w+ = \d/;

/** The text with blanks in place of published names, as far as a name is surely meant. */
function withoutNames({ kind, text }: Piece, names: ReadonlySet<string>): string {
  const blank = (found: string): string => found.replace(/\S/g, " ");
  const segment = (found: string): string => (names.has(found) ? blank(found) : found);
  if (kind === "member") return names.has(text) ? blank(text) : text;
  if (kind === "name") return names.has(text) && isCompound(text) ? blank(text) : text;
  const every = kind === "text" && (statement.test(text) || /^["'`]?[\w/-]+["'`]?$/.test(text));
  const named = (found: string, simple: boolean): string =>
    found.replaceAll(/\/?[A-Za-z_$][\w$]*(?:[-/][\w${}]+)*/g, (name, at: number) => {
      // A call as it is sent: the published part of its path, then the id of an order.
      if (name.startsWith("/") && !names.has(name)) return name.replaceAll(/\/[\w-]+/g, segment);
      const isCode = /[.=]/.test(found[at - 1] ?? "");
      return names.has(name) && (simple || isCode || isCompound(name)) ? blank(name) : name;
    });
  if (every) return named(text, true);
  const quoted = /`[^`]*`|"[\w/-]+"|^```[\s\S]*?^```/gm;
  const spans = text.replaceAll(quoted, (span) => named(span, true));
  return named(spans, false);
}

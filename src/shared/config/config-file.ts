/** One line `NAME=value` of data/config.txt (docs/design.md 4.1). */
export interface Entry {
  readonly line: number;
  readonly name: string;
  readonly value: string;
  /** Whether the value was written in quotes, between which blanks and # are allowed. */
  readonly quoted: boolean;
}

export interface LineFault {
  readonly line: number;
  readonly message: string;
}

/**
 * Reads the lines of a setup file. Comments with #, blank lines, spaces around =, quotes, CRLF and
 * a BOM are accepted; a # inside a value is part of it, but begins a comment after a quoted value.
 */
export function readEntries(text: string): { entries: Entry[]; faults: LineFault[] } {
  const entries: Entry[] = [];
  const faults: LineFault[] = [];
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/);
  for (const [index, raw] of lines.entries()) {
    const line = index + 1;
    const trimmed = raw.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const parts = /^([A-Za-z][A-Za-z0-9_]*)\s*=\s*(.*)$/.exec(trimmed);
    const [, name, value] = parts ?? [];
    if (name === undefined || value === undefined) {
      faults.push({ line, message: "is not NAME=value, for example LOCAL_PORT=8765" });
    } else {
      const inner = /^(["'])(.*?)\1(?:\s+#.*)?$/.exec(value)?.[2];
      entries.push({ line, name, value: inner ?? value, quoted: inner !== undefined });
    }
  }
  return { entries, faults };
}

/** Returns the known name that is most like a mistyped name; undefined: no name is like it. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const upper = name.toUpperCase();
  const [best] = known
    .map((candidate) => ({ candidate, distance: editDistance(upper, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  return best && best.distance <= Math.max(2, Math.floor(upper.length / 3))
    ? best.candidate
    : undefined;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, substitution));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

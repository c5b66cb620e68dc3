import { expect, test } from "vitest";
import { phaseTable } from "../../src/tp-manager/attempts/phase-table.ts";
import { typescriptSources } from "./sources.ts";

/** Files of tp-manager outside attempts/ that may name a phase, with the reason. */
const mayName = new Map([
  ["src/tp-manager/journal/database/migrations.ts", "a step that has run is never changed"],
]);

const names = Object.keys(phaseTable).join("|");
const naming = [
  // state.phase === "sent", { phase: "sent" }, phase <> 'sent', phase IN ('sent'
  new RegExp(`\\bphase\\b['")]*\\s*(?:[=!]==|<>|=|(?:NOT )?IN|:)\\s*\\(?\\s*["'](?:${names})["']`),
  new RegExp(`["'](?:${names})["']\\s*[=!]==\\s*[\\w.?]*\\bphase\\b`),
  /\bswitch \([\w.?]*\bphase\)/,
  new RegExp(`\\bWHEN '(?:${names})'`),
];

test.each([
  'if (attempt.state.phase === "sent") return;',
  `"UPDATE attempt SET n = 1 WHERE phase <> 'not-charged'"`,
  "`WHERE json_extract(kept, '$.end.phase') = 'charged'`",
  "`SELECT 1 FROM attempt WHERE phase IN ('in-doubt')`",
  'if ("charged" !== state.phase) return;',
  'const state = { phase: "reversed" };',
  "switch (state.phase) {",
  "`CASE phase WHEN 'charged' THEN 1 END`",
])("this names a phase: %s", (text) => {
  expect(naming.some((form) => form.test(text))).toBe(true);
});

test("outside attempts/ no file of tp-manager names a phase: the table knows what follows", () => {
  const found = typescriptSources()
    .filter(({ path }) => /^src\/tp-manager\/(?!attempts\/|terminal\/)/.test(path))
    .filter(({ text }) => naming.some((form) => form.test(text)))
    .map(({ path }) => path);
  expect(found).toEqual([...mayName.keys()]);
});

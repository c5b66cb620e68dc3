import { expect, test } from "vitest";
import { typescriptSources } from "./sources.ts";

const OWNERS = ["test/support/programs/own-processes.ts", "test/support/run/run-folder.ts"];
const imported = /import \{([^}]*)\} from "node:child_process"/;

test("tests start processes that go on by themselves in one place only", () => {
  const others = typescriptSources()
    .filter(({ path }) => path.startsWith("test/") && !OWNERS.includes(path))
    .filter(({ text }) =>
      /\b(spawn|execFile|exec|fork)\b(?!Sync)/.test(imported.exec(text)?.[1] ?? ""),
    );
  expect(others.map(({ path }) => path)).toEqual([]);
});

test("tests have no limits of patience of their own", () => {
  const own = typescriptSources()
    .filter(({ path }) => path.startsWith("test/"))
    .flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, i) =>
          /^\s*\}, [\d_]{4,}\);$|testTimeout: [\d_]+,? \}|\bvi\.waitFor\(/.test(line)
            ? [`${path}:${i + 1}`]
            : [],
        ),
    );
  expect(own).toEqual([]);
});

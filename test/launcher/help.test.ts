import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { usage } from "../../src/launcher/arguments.ts";
import { kioskAddress } from "../../src/launcher/commands/kiosk.ts";
import type { CommandContext } from "../../src/launcher/output.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

test.skipIf(process.platform === "win32")("--help of a fresh clone installs nothing", () => {
  const clone = temporaryFolder();
  cpSync(join(projectRoot, "launch.sh"), join(clone, "launch.sh"));
  mkdirSync(join(clone, "src/launcher"), { recursive: true });
  const text = "src/launcher/texts-en.json";
  cpSync(join(projectRoot, text), join(clone, text));
  const npm = join(clone, "npm"); // would be called by its name
  writeFileSync(npm, "#!/bin/sh\nexit 3\n", { mode: 0o755 });
  const env = { PATH: `${clone}:/usr/bin:/bin`, NODE_COMPILE_CACHE: join(clone, "cache") };
  const noRuntime = join(clone, "node");
  writeFileSync(noRuntime, "#!/bin/sh\necho v18.0.0\n", { mode: 0o755 });
  const output = execFileSync(join(clone, "launch.sh"), ["--help"], { env, encoding: "utf8" });
  expect(output).toBe(`${usage}\n`);
  expect(existsSync(join(clone, "node_modules"))).toBe(false);
});

test("without a setup file the help says that no kiosk pages are served", () => {
  const configFile = join(temporaryFolder(), "config.txt");
  const site = { configFile } as CommandContext;
  expect(() => kioskAddress(site)).toThrow(`KIOSK_PORT and KIOSK_APP in ${configFile}`);
});

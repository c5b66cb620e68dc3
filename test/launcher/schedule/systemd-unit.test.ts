import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemdUnit } from "../../../src/launcher/schedule/schedule.ts";
import { projectRoot } from "../../../src/shared/version-files.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

const unit = () => systemdUnit('/srv/50% of "my" $data');

test("the unit restarts always, except on a wrong configuration, and stops in order", () => {
  const lines = unit().split("\n");
  for (const line of [
    "Restart=always",
    "RestartPreventExitStatus=78",
    "StartLimitIntervalSec=0",
    "KillMode=mixed",
    "TimeoutStopSec=120",
  ]) {
    expect(lines).toContain(line);
  }
  expect(lines).toContain(
    `ExecStart="${projectRoot}/launch.sh" "--foreground" "--data" ` +
      '"/srv/50%% of \\"my\\" $$data"',
  );
});

test("the advice to install the unit names the unit's data folder", () => {
  const comments = systemdUnit("/srv/my data").split("\n");
  expect(comments).toContain(
    "#   ./launch.sh systemd-unit --data '/srv/my data' | " +
      "sudo tee /etc/systemd/system/terminal-connector.service",
  );
});

test("systemd's own check finds no fault in the unit", (context) => {
  const file = join(temporaryFolder(), "terminal-connector.service");
  writeFileSync(file, `${unit()}\n`);
  const checked = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
  if (checked.error) context.skip("systemd-analyze is not installed");
  const about = checked.stderr.split("\n").filter((line) => line.includes("terminal-connector"));
  expect(about).toEqual([]);
});

test("systemd finds few permissions that the unit could still give up", (context) => {
  const file = join(temporaryFolder(), "terminal-connector.service");
  // The user of the tests may be root; a kiosk's user is not.
  writeFileSync(file, `${unit().replace(/^User=.*$/m, "User=kiosk")}\n`);
  const args = ["security", "--offline=true", "--threshold=30", "--no-pager", file];
  const checked = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  if (checked.error) context.skip("systemd-analyze is not installed");
  if (/unrecognized option/.test(checked.stderr)) context.skip("systemd-analyze is too old");
  expect(checked, checked.stdout).toMatchObject({ status: 0 });
  expect(checked.stdout).toMatch(/exposure level .*: [0-2]\.\d/);
});

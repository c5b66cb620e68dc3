import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../../src/shared/version-files.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { SupervisorProcess, writeConfig } from "../supervisor-process.ts";

/** Notes each module that a program or a thread of it loads. */
const noting = (file: string): string => {
  const script = `
    import { registerHooks } from "node:module";
    import { appendFileSync } from "node:fs";
    registerHooks({ load(url, context, next) {
      appendFileSync(${JSON.stringify(file)}, url + "\\n");
      return next(url, context);
    } });`;
  return `data:text/javascript,${encodeURIComponent(script)}`;
};

/** A supervisor from its sources, of which each module is a file. */
async function startedWith(settings: Record<string, string>) {
  const folder = temporaryFolder();
  const data = join(folder, "data");
  const list = join(folder, "modules");
  writeConfig(data, "http://127.0.0.1:9", settings);
  const main = join(projectRoot, "src/supervisor/main.ts");
  const supervisor = new SupervisorProcess(data, ["--import", noting(list)], main);
  await supervisor.ready();
  const ofFleet = /node_modules.mqtt|supervisor.fleet|start-fleet|support-bundle/;
  const loaded = () => (existsSync(list) ? readFileSync(list, "utf8").trim().split("\n") : []);
  return { supervisor, loaded, fleet: () => loaded().filter((url) => ofFleet.test(url)) };
}

test("a supervisor that runs without FLEET_URL has loaded nothing of the fleet", async () => {
  const without = await startedWith({});
  const withOne = await startedWith({ FLEET_URL: "mqtt://127.0.0.1:9", FLEET_ID: "kiosk-7" });
  await expect.poll(() => withOne.fleet().join()).toContain("node_modules/mqtt/");
  expect(await without.supervisor.ended("SIGTERM")).toBe(0);
  expect(without.loaded().length).toBeGreaterThan(50);
  expect(without.fleet()).toEqual([]);
});

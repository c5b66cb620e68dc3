/**
 * How much of a program one payment runs through.
 *   npm run payment-path -- [--warm-up N] [--list]
 * Pays N times at a whole installation of simulators, then once more, and counts the files and
 * functions of tp-manager that this payment called, and the calls (precise coverage of V8). The
 * count ends when the answer came, so what is done after the answer is not counted. The simulated
 * customer takes no time, so that the work of timers, such as a poll every 5 s, is not counted
 * either. --list prints each file with its functions.
 */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { projectRoot } from "../src/shared/version-files.ts";
import { until } from "../test/support/programs/child-program.ts";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { misused, readArguments } from "./command-line.ts";

interface Coverage {
  readonly result: ReadonlyArray<{
    readonly url: string;
    readonly functions: ReadonlyArray<{
      readonly functionName: string;
      readonly ranges: ReadonlyArray<{ readonly count: number; readonly startOffset: number }>;
    }>;
  }>;
}

const { values } = readArguments({
  options: {
    "warm-up": { type: "string", default: "20" },
    list: { type: "boolean", default: false },
  },
});
const warmUp = Number(values["warm-up"]);
if (!Number.isInteger(warmUp) || warmUp < 1) misused("--warm-up: a whole number from 1\n");

const at = new TestInstallation({
  nodeSwitches: ["--inspect=127.0.0.1:0"],
  terminalSwitches: ["--instant"],
  simulatorPrograms: true,
});
try {
  await at.start();
  await at.connected();
  const address = await until("the inspector", () =>
    /ws:\/\/\S+/.exec(at.tpManager?.output ?? "")?.at(0),
  );
  const inspector = new WebSocket(address);
  await new Promise((resolve) => inspector.addEventListener("open", resolve, { once: true }));
  await ask(inspector, 1, "Profiler.enable");
  await ask(inspector, 2, "Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  for (let i = 0; i < warmUp; i++) await at.pay(1, `warm-${i}`);
  await ask(inspector, 3, "Profiler.takePreciseCoverage");
  await at.pay(1, "counted");
  printCoverage((await ask(inspector, 4, "Profiler.takePreciseCoverage")) as Coverage);
  inspector.close();
} finally {
  await at.stop();
}

/** Sends one request to the inspector and returns the result. */
async function ask(inspector: WebSocket, id: number, method: string, params = {}) {
  const answered = Promise.withResolvers<unknown>();
  const listener = ({ data }: MessageEvent): void => {
    const answer = JSON.parse(String(data)) as { readonly id?: number; readonly result?: unknown };
    if (answer.id === id) answered.resolve(answer.result);
  };
  inspector.addEventListener("message", listener);
  inspector.send(JSON.stringify({ id, method, params }));
  const result = await answered.promise;
  inspector.removeEventListener("message", listener);
  return result;
}

function printCoverage({ result }: Coverage): void {
  const files = result
    .filter(({ url }) => url.startsWith("file:") && !url.includes("/node_modules/"))
    .map(({ url, functions }) => ({
      path: relative(projectRoot, fileURLToPath(url)),
      called: functions.flatMap(({ functionName, ranges: [whole] }) =>
        // A range from the first character is the file itself, not a function.
        whole && whole.count > 0 && whole.startOffset > 0
          ? [{ name: functionName || "(without a name)", calls: whole.count }]
          : [],
      ),
    }))
    .filter(({ called }) => called.length > 0);
  const called = files.flatMap((file) => file.called);
  const calls = called.reduce((sum, one) => sum + one.calls, 0);
  for (const file of values.list ? files : []) {
    const names = file.called.map(({ name, calls: times }) => `${name} ${times}`);
    process.stdout.write(`${file.path}: ${names.join(", ")}\n`);
  }
  process.stdout.write(`${files.length} files, ${called.length} functions, ${calls} calls\n`);
}

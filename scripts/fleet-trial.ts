/**
 * Does what docs/fleet-pack.md says, in an empty folder, with 50 simulated kiosks:
 *   node scripts/fleet-trial.ts [--kiosks 50]
 * Types the page's commands (on free ports), waits until every kiosk is online in Prometheus, runs
 * the queries of the dashboards, stops one kiosk as a pulled cable does, and waits for the alert
 * and its end at a webhook. Then figures of six hours without a connection have to be there, and
 * Prometheus in agent mode reads a real connector. Prints how long each step took. Exits with 1
 * when one fails or the alert takes more than two minutes, with 77 where mosquitto, Prometheus or
 * Alertmanager is not installed. Ends every program that it started.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { connectAsync } from "mqtt";
import { conditionTable } from "../src/shared/catalog/conditions.ts";
import { sleep, systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { shellBlocks } from "../test/support/files/pages.ts";
import { freePort, TestInstallation } from "../test/support/programs/installation.ts";
import { layOutFleetPack } from "./bundle.ts";
import { readArguments } from "./command-line.ts";
import { dashboards } from "./fleet-pack/dashboards.ts";
import { remoteWrite } from "./fleet-pack/remote-write.ts";

const { values } = readArguments({ options: { kiosks: { type: "string", default: "50" } } });
const count = Number(values.kiosks);
const tools = ["/usr/sbin/mosquitto", "prometheus", "prometheus-alertmanager"];
const LIMIT_MS = 180_000;
const ALERT_LIMIT_SECONDS = 120;
const SILENT = "FleetKioskSilent";
const AGENT = "--enable-feature=agent";
/** The exit code of what cannot be tried on this machine. */
const SKIPPED = 77;

interface Alert {
  readonly status: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const missing = tools.filter((tool) => spawnSync("which", [tool]).status !== 0);
if (missing.length > 0) {
  print(`not installed: ${missing.join(", ")}`);
  process.exit(SKIPPED);
}
const folder = mkdtempSync(join(tmpdir(), "fleet-trial-"));
const running: ChildProcess[] = [];
/** The process of the kiosk whose cable is pulled. */
let last: ChildProcess | undefined;
const unplugged = `kiosk-${count}`;
const alerts: Alert[] = [];
const webhook = createServer((request, response) => {
  let text = "";
  request.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  request.on("end", () => {
    alerts.push(...(JSON.parse(text) as { alerts: Alert[] }).alerts);
    response.end();
  });
});
/** The free port for each port of the page and its files. */
const ports: Record<string, number> = {};
for (const port of ["8883", "9090", "9093", "9095"]) ports[port] = await freePort();
const prometheus = `http://127.0.0.1:${ports["9090"]}`;
webhook.listen(ports["9095"], "127.0.0.1");
const agent = new TestInstallation({ alone: true, config: { METRICS_LOGIN: "metrics:figures" } });
try {
  process.exitCode = (await tryAll()) ? 0 : 1;
} finally {
  webhook.close();
  for (const child of running) child.kill("SIGCONT");
  for (const child of running) child.kill("SIGKILL");
  await agent.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function tryAll(): Promise<boolean> {
  await step("the pack is made", () => layOutFleetPack(join(folder, "bundle")));
  const blocks = shellBlocks("docs/fleet-pack.md").map(({ code }) => code);
  const agentBlock = blocks.filter((code) => code.includes(AGENT));
  const typed = blocks.filter((code) => !code.startsWith("sudo") && !agentBlock.includes(code));
  await step("the commands of the book are typed", () => typed.forEach(type));
  await step(`${count} kiosks are online`, kiosksOnline);
  const wasAlerted = await oneUnplugged();
  await step("figures of 20 hours ago are there, after some that are too old", lateFigures);
  await step("six hours without a connection left no gap", sixHours);
  await step("the agent of a real connector is read", () => agentRead(agentBlock));
  await step("the dashboards agree with @grafana/schema", dashboardsTyped);
  return wasAlerted;
}

/** Types commands in the folder; a program that goes on running is left running. */
function type(code: string): void {
  const cwd = folder;
  const text = onFreePorts(code).replace("seq 50", `seq ${count}`);
  const path = `${dirname(process.execPath)}:${process.env["PATH"]}`;
  const PACK = join(folder, "bundle/examples/fleet-pack");
  const env = { ...process.env, PATH: path, PACK, CONNECTOR: projectRoot };
  if (/^(?:\/usr\/sbin\/mosquitto|node|prometheus)/.test(text)) {
    running.push(spawn("sh", ["-c", `exec ${text}`], { cwd, env, stdio: "ignore" }));
    return;
  }
  execFileSync("sh", ["-ec", text], { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
  for (const name of globSync("*.{conf,json,yml}", { cwd })) {
    const file = join(cwd, name);
    writeFileSync(file, onFreePorts(readFileSync(file, "utf8")));
  }
  // As root mosquitto would become another user, who cannot read the folder.
  const conf = join(cwd, "mosquitto.conf");
  const isRoot = userInfo().uid === 0 && !readFileSync(conf, "utf8").includes("user root");
  if (isRoot) appendFileSync(conf, "user root\n");
}

function onFreePorts(text: string): string {
  return Object.entries(ports).reduce(
    (all, [port, free]) => all.replaceAll(port, String(free)),
    text,
  );
}

function startKiosks(first: number, some: number): ChildProcess {
  const program = join(import.meta.dirname, "fleet-pack", "kiosks.ts");
  const args = [join(folder, "enrolled"), first, some].map(String);
  // The kiosks end with their standard input, also when this program is killed.
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  running.push(child);
  return child;
}

async function kiosksOnline(): Promise<void> {
  startKiosks(1, count - 1);
  last = startKiosks(count, 1);
  await until(`count(connector_online == 1) == ${count}`);
}

/** Stops one kiosk, which then says nothing more; returns whether its alert came in time. */
async function oneUnplugged(): Promise<boolean> {
  last?.kill("SIGSTOP");
  const seconds = await step(`the alert about ${unplugged} is at the webhook`, () =>
    alertIs("firing"),
  );
  const alert = alerts.find(({ labels }) => labels["alertname"] === SILENT);
  print(`  ${alert?.annotations["summary"]} -> ${alert?.annotations["todo"]}`);
  const others = alerts.filter(
    ({ labels }) => labels["alertname"] === SILENT && labels["kiosk"] !== unplugged,
  );
  await step("each query of the dashboards has series, and the page shows it", queriesAnswered);
  last?.kill("SIGCONT");
  await step("the alert is over", () => alertIs("resolved"));
  return seconds <= ALERT_LIMIT_SECONDS && others.length === 0;
}

async function alertIs(status: string): Promise<void> {
  await waitFor(`an alert that is ${status}`, () =>
    alerts.some(({ labels, annotations, ...one }) => {
      const isIt = labels["alertname"] === SILENT && labels["kiosk"] === unplugged;
      return isIt && one.status === status && /power and network/.test(annotations["todo"] ?? "");
    }),
  );
}

async function queriesAnswered(): Promise<void> {
  const queries = Object.values(dashboards()).flatMap(({ panels }) =>
    panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  );
  // kiosk-1 has a condition, and each kiosk is at one of these sites.
  for (const query of queries) {
    await until(query.replaceAll("$kiosk", "kiosk-1").replaceAll("$site", "bern|basel"));
  }
  const { groups } = (await asked("rules")) as { groups: { rules: { health: string }[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  const ill = rules.filter(({ health }) => health !== "ok").length;
  if (rules.length === 0 || ill > 0) throw new Error(`${ill} of ${rules.length} rules are ill`);
  print(`  ${queries.length} queries, ${rules.length} rules`);
  await pageRead();
}

/** The page has each kiosk once, those with a fault first, each with what to do. */
async function pageRead(): Promise<void> {
  // kiosk-2 was at another site, and its tp-manager does not answer.
  const atMs = systemClock.now();
  const labels = { kiosk: "kiosk-2", label_site: "zug" };
  const moved = { name: "connector_online", labels, value: 1, atMs: atMs - 600_000 };
  const why = { kiosk: "kiosk-2", label_site: "basel", code: "tp-manager-silent" };
  await remoteWrite(`${prometheus}/api/v1/write`, {}, [
    moved,
    { ...moved, value: null, atMs: moved.atMs + 1 },
    { name: "connector_not_ready", labels: why, value: 1, atMs },
  ]);
  const page = await pageOf("");
  const says = [
    conditionTable["queue-old"].todo,
    "An order may have been charged twice",
    "The program tp-manager, which takes the payments",
    '"bad">silent',
  ];
  const rows = (text: string): number => text.match(/<td>kiosk-/g)?.length ?? 0;
  const isFirst = page.indexOf(`<td>${unplugged}`) < page.indexOf("<td>kiosk-3<");
  const bern = await pageOf("site=bern");
  const unread = await pageOf("site=b{");
  const found = [rows(page), isFirst, rows(bern), rows(unread)];
  const right = [count, true, Math.ceil((count - 1) / 2) + 1, count];
  const lacks = says.filter((text) => !page.includes(text));
  const isRefused = unread.includes("This filter cannot be read");
  if (lacks.length > 0 || !isRefused || found.join() !== right.join())
    throw new Error(`the page is wrong: ${found.join()}, without ${lacks.join("; ")}`);
}

async function pageOf(filter: string): Promise<string> {
  const of = encodeURIComponent(filter);
  return await (await fetch(`${prometheus}/consoles/fleet.html?of=${of}`)).text();
}

/** A kiosk with wrong clocks or documents must not stop the figures of others. */
async function lateFigures(): Promise<void> {
  const kiosk = "kiosk-1";
  const text = readFileSync(join(folder, "enrolled/kiosks", kiosk, "fleet.txt"), "utf8");
  const [, password = ""] = /^FLEET_PASSWORD=(.*)$/m.exec(text) ?? [];
  const ca = readFileSync(join(folder, "enrolled/ca.pem"));
  const login = { protocolVersion: 5, username: kiosk, password, ca } as const;
  const client = await connectAsync(`mqtts://localhost:${ports["8883"]}`, login);
  const poison = `{"version":1,"kiosk":"${kiosk}","at":{"toString":0,"valueOf":0}}`;
  await client.publishAsync(`connector/1/${kiosk}/metrics`, poison, { qos: 1 });
  for (const hoursAgo of [72, -40_000, 20]) {
    const at = new Date(systemClock.now() - hoursAgo * 3_600_000).toISOString();
    const document = JSON.stringify({ version: 1, kiosk, at, memoryBytes: 7 });
    await client.publishAsync(`connector/1/${kiosk}/metrics`, document, { qos: 1 });
  }
  await client.endAsync();
  await until(`count_over_time(connector_memory_bytes{kiosk="${kiosk}"}[1h] offset 19h30m) == 1`);
  await until("connector_bridge_up == 1 and connector_bridge_refused_total == 2");
  await until("connector_broker_certificate_ends_timestamp_seconds > time()");
}

/** kiosk-1 was away for six hours; each minute has to have its figures, and no counter falls. */
function sixHours(): Promise<void> {
  const sent = 'connector_outbox_sent{kiosk="kiosk-1"}';
  const minutes = `count_over_time(last_over_time(${sent}[90s])[6h:1m]) >= 360`;
  return until(`${minutes} and on (kiosk) resets(${sent}[6h]) == 0`);
}

function dashboardsTyped(): void {
  const program = join(import.meta.dirname, "fleet-pack", "grafana-check.ts");
  const { status, stdout } = spawnSync(process.execPath, [program], { encoding: "utf8" });
  print(`  ${status === SKIPPED ? "skipped: " : ""}${stdout.trim()}`);
  if (status !== 0 && status !== SKIPPED) throw new Error("a dashboard is none");
}

async function agentRead(commands: readonly string[]): Promise<void> {
  await agent.start();
  // Just before it is used: minutes ago another program could have taken it since.
  ports["9091"] = await freePort();
  const file = join(folder, "agent.yml");
  writeFileSync(file, readFileSync(file, "utf8").replace("8765", String(agent.port)));
  writeFileSync(join(folder, "metrics.password"), "figures");
  commands.forEach(type);
  await until('up{job="connector",kiosk="kiosk-7"} == 1 and on (kiosk) connector_terminal_ready');
}

/** Waits until a query has series. */
function until(query: string): Promise<void> {
  return waitFor(`series of ${query}`, async () => {
    const found = await asked(`query?query=${encodeURIComponent(query)}`).catch(() => undefined);
    return ((found as { result: unknown[] } | undefined)?.result.length ?? 0) > 0;
  });
}

async function asked(path: string): Promise<unknown> {
  const answer = await fetch(`${prometheus}/api/v1/${path}`);
  return ((await answer.json()) as { data: unknown }).data;
}

async function waitFor(what: string, isThere: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = systemClock.monotonicMs() + LIMIT_MS;
  while (!(await isThere())) {
    if (systemClock.monotonicMs() > endMs) throw new Error(`${what}: not within ${LIMIT_MS} ms`);
    await sleep(systemClock, "the fleet's trial", 200);
  }
}

/** Prints how many seconds some work took, and returns them. */
async function step(what: string, work: () => unknown): Promise<number> {
  const beganMs = systemClock.monotonicMs();
  await work();
  const seconds = Math.round((systemClock.monotonicMs() - beganMs) / 100) / 10;
  print(`${what}: ${seconds} s`);
  return seconds;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectAsync, type MqttClient } from "mqtt";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import {
  type DocumentOf,
  type FleetName,
  fleetDocuments,
  type StateNow,
  topicOf,
} from "../../src/supervisor/fleet/documents.ts";
import { hasMosquitto, Mosquitto } from "../supervisor/fleet/mosquitto.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { freePort } from "../support/programs/installation.ts";
import { startProcess } from "../support/programs/own-processes.ts";
import { isWhole } from "../support/run/scope.ts";
import { browserForSuite, haveChromium, pageForSuite } from "./chromium.ts";
import { easyForAll } from "./console-house.ts";
import { pictured } from "./pictures.ts";

/** In the whole scope as many as a fleet's board has to list. */
const MANY = isWhole ? 1_000 : 120;
const folder = join(projectRoot, "examples/fleet-board");
const hostile = `<img src=x onerror="document.title='owned'">`;
const time = "2026-01-15T12:00:00.000Z";
let sequence = 0;

function now(change: Partial<StateNow> = {}): StateNow {
  return {
    canPay: "yes",
    obstacles: [],
    terminal: { link: "connected", state: "ready", since: time, terminalId: "12345678" },
    payments: { running: 0, inDoubt: 0, notHandedOver: 0 },
    gateway: { pending: 0, parked: 0, oldestAgeSeconds: null, paused: false, possibleCopies: 0 },
    troubles: [],
    versions: { supervisor: "1.2.0", tpManager: "1.2.0" },
    update: null,
    dropped: 0,
    ...change,
  };
}

type State = DocumentOf<"state">;

function state(change: Partial<State> = {}): Partial<State> {
  return { connection: "online", since: time, now: now(), ...change };
}

/** Kiosks as the board sees them: what they publish agrees with the schemas. */
class Kiosks {
  readonly client: MqttClient;

  constructor(client: MqttClient) {
    this.client = client;
  }

  async publishOf<N extends FleetName>(kiosk: string, name: N, content: object): Promise<void> {
    const kept = "sequence" in fleetDocuments[name].schema.shape ? { sequence: ++sequence } : {};
    const document = { version: 1, id: randomUUID(), kiosk, at: time, ...kept, ...content };
    expect(fleetDocuments[name].schema.safeParse(document).error).toBe(undefined);
    const { retained } = fleetDocuments[name];
    const options = { qos: 1, retain: retained } as const;
    await this.client.publishAsync(topicOf(kiosk, name), JSON.stringify(document), options);
  }
}

const login = { username: "board", password: "of the board" };

const readme = readFileSync(join(folder, "README.md"), "utf8");

/** The broker and the server of the README, on other ports, and the page. */
async function boardOn(page: Page, change: (rules: string) => string = (rules) => rules) {
  const port = String(await freePort());
  const broker = await Mosquitto.made();
  const rules = change(readFileSync(join(folder, "mosquitto.conf"), "utf8"));
  const ported = rules.replace("listener 1883", `listener ${broker.port}`);
  writeFileSync(broker.file("mosquitto.conf"), ported.replace("listener 9001", `listener ${port}`));
  await broker.up();
  const kiosks = new Kiosks(await connectAsync(broker.url, { protocolVersion: 5, ...login }));
  onTestFinished(() => kiosks.client.endAsync(true));
  const [command = ""] = /^node .*$/m.exec(readme) ?? [];
  const args = command.replace("9001", port).replace("8090", "0").split(" ").slice(1);
  const server = startProcess(process.execPath, args, { cwd: projectRoot });
  onTestFinished(() => void server.kill("SIGKILL"));
  let output = "";
  server.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString("utf8");
  });
  await expect.poll(() => output).toMatch(/http:\S+/);
  const url = /http:\S+/.exec(output)?.[0] ?? "";
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  const open = async (): Promise<void> => {
    await page.goto(url);
    await expect.poll(() => page.locator("#connection").innerText()).toBe("connected");
  };
  return { broker, kiosks, url, faults, open };
}

test("the board publishes nothing, and makes no markup out of texts", () => {
  for (const name of ["board.js", "dom.js", "fleet.js", "kiosk.js", "schema.js"]) {
    const text = readFileSync(join(folder, name), "utf8");
    expect(text).not.toMatch(/publish\(|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(/);
  }
});

describe.skipIf(!haveChromium || !hasMosquitto)("the fleet board on mosquitto", () => {
  const browser = browserForSuite();

  const emptyPage = pageForSuite(browser, { locale: "en-GB" });
  const said = (page: Page, selector: string) =>
    expect.poll(() => page.locator(selector).innerText());

  test(`${MANY} kiosks are listed and filtered, with versions, births, deaths`, async () => {
    const page = await emptyPage();
    const { kiosks, faults, open } = await boardOn(page);
    const names = Array.from({ length: MANY }, (_, i) => `kiosk-${String(i).padStart(4, "0")}`);
    const last = String(names.at(-1));
    await Promise.all(
      names.map((kiosk, i) => {
        const versions = { supervisor: i < 100 ? "1.10.0" : "1.9.0", tpManager: "1.9.0" };
        const change: Partial<StateNow> = { versions };
        if (i < 7) Object.assign(change, { canPay: "no", obstacles: ["TERMINAL_OUT_OF_ORDER"] });
        if (i >= 7 && i < 10) change.payments = { running: 0, inDoubt: 1, notHandedOver: 0 };
        return kiosks.publishOf(kiosk, "state", state({ now: now(change) }));
      }),
    );
    await open();
    await said(page, "#listed").toBe(`${MANY} of ${MANY} kiosks`);
    await said(page, "#versions").toMatch(
      new RegExp(String.raw`1\.10\.0\s*100\s*1\.9\.0\s*${MANY - 100}`),
    );
    await said(page, "#count-no-money").toBe("7");

    await page.getByLabel("not known to take money").check();
    await said(page, "#listed").toBe(`7 of ${MANY} kiosks`);
    await page.getByLabel("not known to take money").uncheck();
    await page.getByLabel("payments wait for a person").check();
    await said(page, "#listed").toBe(`3 of ${MANY} kiosks`);
    await page.getByLabel("payments wait for a person").uncheck();
    await page.locator("#version").selectOption("1.10.0");
    await said(page, "#listed").toBe(`100 of ${MANY} kiosks`);
    await page.locator("#text").fill("out_of_order");
    await said(page, "#listed").toBe(`7 of ${MANY} kiosks`);
    await page.locator("#version").selectOption("all");
    await page.locator("#text").fill("");
    await pictured(page, "board/kiosks");
    await page.locator("#text").fill(last);
    await said(page, "#listed").toBe(`1 of ${MANY} kiosks`);

    await kiosks.publishOf(last, "state", state({ connection: "lost", now: null }));
    await said(page, "#changes").toMatch(new RegExp(`${last} lost`));
    await said(page, "#kiosks").toMatch(new RegExp(String.raw`${last}\s+lost`));
    await kiosks.publishOf(last, "state", state());
    await said(page, "#changes").toMatch(new RegExp(String.raw`${last} online[\s\S]*${last} lost`));

    // With the keyboard alone, there and back.
    await page.locator("#text").focus();
    for (const key of ["Tab", "Tab", "Tab", "Tab", "Enter"]) await page.keyboard.press(key);
    await said(page, "#kiosk h2").toBe(last);
    expect(await page.evaluate("document.activeElement.id")).toBe("kiosk-heading");
    await publishAll(kiosks, last);
    await said(page, "#kiosk").toMatch(/fleet-twin[\s\S]*in-doubt[\s\S]*€12\.50[\s\S]*differs/);
    await said(page, "#kiosk").toMatch(/-€1\.00[\s\S]*Sent to the gateway\s+41/);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("#kiosk").isHidden()).toBe(true);
    expect(await page.evaluate("document.activeElement.textContent")).toBe(last);
    expect(faults).toEqual([]);
  });

  test("hostile names, texts and sizes change only the count of refused messages", async () => {
    const page = await emptyPage();
    const { kiosks, faults, open, url } = await boardOn(page);
    await kiosks.publishOf("good", "state", state());
    await open();
    const whole = { version: 1, id: randomUUID(), kiosk: "good", at: time, ...state() };
    const publish = (topic: string, payload: string | Buffer) =>
      kiosks.client.publishAsync(topic, payload, { qos: 1 });
    const payload = JSON.stringify(whole);
    await publish(`connector/1/${hostile}/state`, payload);
    await publish("connector/1/another/state", payload);
    await publish("connector/1/__proto__/state", payload);
    await publish("connector/1/good/state", JSON.stringify({ ...whole, connection: hostile }));
    await publish("connector/1/good/state", `{"__proto__":${payload}}`);
    await publish("connector/1/good/state", payload.replace("1.2.0", hostile.replaceAll('"', "'")));
    await publish("connector/1/good/metrics", Buffer.from([0xff, 0xfe]));
    await publish("connector/1/good/alarm", `[${"[".repeat(9_000)}`);
    await publish("connector/1/good/state", JSON.stringify({ ...whole, x: "x".repeat(65_536) }));
    await said(page, "#refused").toBe("messages not understood: 9");
    // A newer connector may send more; a kiosk may have a name that every object has as a member.
    await publish("connector/1/good/state", JSON.stringify({ ...whole, more: hostile }));
    const payments = { running: 0, inDoubt: 1, notHandedOver: 0 };
    await kiosks.publishOf("constructor", "state", state({ now: now({ payments }) }));
    await kiosks.publishOf("constructor", "state", state({ connection: "stopped", now: null }));
    await kiosks.publishOf("__proto__", "state", state());
    await said(page, "#listed").toBe("3 of 3 kiosks");
    await said(page, "#refused").toBe("messages not understood: 9");
    await said(page, ".counts").toMatch(/stopped\s+1[\s\S]*wait for a person\s+1/);
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.title()).toBe("Fleet board");
    await page.getByRole("link", { name: "constructor" }).first().click();
    await said(page, "#kiosk h2").toBe("constructor");
    await publishAll(kiosks, "constructor");
    await said(page, "#kiosk").toMatch(/Sent to the gateway/);
    await easyForAll(page, "board/kiosk");
    expect(faults).toEqual([]);

    const policy = (await fetch(url)).headers.get("content-security-policy");
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; connect-src/);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    for (const path of ["../../package.json", "%2e%2e/README.md", "serve.js", "constructor"]) {
      expect([path, (await fetch(url + path)).status]).toEqual([path, 404]);
    }
  });

  test("the board logs in where the broker wants it, and waits for a lost broker", async () => {
    const page = await emptyPage();
    const users = passwordFile(login.password);
    const guarded = `user root\nallow_anonymous false\npassword_file ${users}`;
    const { broker, kiosks, url } = await boardOn(page, (rules) =>
      rules.replace("allow_anonymous true", guarded),
    );
    await kiosks.publishOf("kiosk-7", "state", state());
    await page.clock.install();
    await page.goto(url);
    await said(page, "#connection").toBe("the broker wants a login");
    await page.getByLabel("User").fill(login.username);
    await page.getByLabel("Password").fill("wrong");
    await page.keyboard.press("Enter");
    const refused = "the broker refuses this user name or password";
    await said(page, "#connection").toBe(refused);
    const field = () => page.evaluate("[document.activeElement.id, password.value, user.value]");
    expect(await field()).toEqual(["password", "", login.username]);
    await easyForAll(page, "board/log-in", "more of a view");
    await page.getByLabel("Password").fill(login.password);
    await page.keyboard.press("Enter");
    await said(page, "#listed").toBe("1 of 1 kiosks");
    expect(await page.locator("#login").isVisible()).toBe(false);
    await page.getByRole("link", { name: "kiosk-7" }).first().click();
    await said(page, "#kiosk h2").toBe("kiosk-7");
    await kiosks.client.endAsync(true);
    await broker.down();
    await said(page, "#connection").toMatch(/since .*\d:\d\d:\d\d: what is shown may be old/);
    await pictured(page, "board/broker-away");
    // The password is another one now, so what the old one has shown goes.
    copyFileSync(passwordFile("another"), users);
    await broker.up();
    await page.clock.runFor(5_000);
    await said(page, "#connection").toBe(refused);
    await said(page, "#listed").toBe("");
    await said(page, ".counts").not.toMatch(/\d/);
    const left = await page.locator("#kiosk:visible, #kiosks tr, #versions li").count();
    expect([left, await field()]).toEqual([0, ["password", "", login.username]]);
  });
});

function passwordFile(password: string): string {
  const path = join(temporaryFolder(), "users");
  writeFileSync(path, `${login.username}:${password}\n`, { mode: 0o600 });
  execFileSync("mosquitto_passwd", ["-U", path]);
  return path;
}

/** Publishes every document that a kiosk may publish in addition to its state. */
async function publishAll(kiosks: Kiosks, kiosk: string): Promise<void> {
  const transactionId = randomUUID();
  const twin = { phase: "raised", alarm: "fleet-twin", source: "supervisor", transactionId: null };
  await kiosks.publishOf(kiosk, "alarm", twin);
  await kiosks.publishOf(kiosk, "payment", {
    transactionId,
    attempt: 1,
    outcome: "in-doubt",
    charged: "unknown",
    error: "PAYMENT_UNKNOWN",
    amountMinor: 1_250,
    chargedAmountMinor: null,
    currency: "EUR",
    durationMs: 9_000,
  });
  await kiosks.publishOf(kiosk, "reconciliation", {
    kind: "end-of-day",
    result: "differs",
    transactions: null,
    sumMinor: null,
    differenceMinor: -100,
    currency: "EUR",
  });
  const outcomes = fleetDocuments.payment.schema.shape.outcome.options;
  await kiosks.publishOf(kiosk, "metrics", {
    uptimeSeconds: { supervisor: 9, tpManager: 8 },
    memoryBytes: 64 * 2 ** 20,
    outbox: { pending: 0, parked: 0, sent: 41 },
    alarmsRaised: 1,
    payments: Object.fromEntries(outcomes.map((name) => [name, 3])),
    queue: { waiting: 0, dropped: 0 },
  });
}

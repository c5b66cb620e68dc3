import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/shared/time.ts";
import { nexoProtocol } from "../../src/simulator/terminal/nexo/nexo-protocol.ts";
import { completed } from "../../src/simulator/terminal/options.ts";
import { openTerminal } from "../../src/simulator/terminal/terminal-simulator.ts";
import {
  started as startFrench,
  taggedRequest,
} from "../simulator/terminal/concert/support/started.ts";
import type { ZvtSimulator } from "../simulator/terminal/support/start-simulator.ts";
import { startTerminalSimulator } from "../simulator/terminal/support/start-simulator.ts";
import {
  authorisation,
  REGISTRATION_WITHOUT_PRINT,
} from "../simulator/terminal/support/started.ts";
import { ScriptedRegister } from "../simulator/terminal/zvt/support/register.ts";
import { isWhole, rowsOf } from "../support/run/scope.ts";
import { axeFaults } from "./axe-faults.ts";
import { browserForSuite, haveChromium } from "./chromium.ts";
import { pictured, picturesFolder } from "./pictures.ts";
import { hardToUse, hiddenParts, sizes, smallSizes } from "./readable.ts";

const tcp = { host: "127.0.0.1", port: 0 };
const languages = ["en", "de", "fr", "it", "es"];

describe.skipIf(!haveChromium)("the terminal to touch", () => {
  const browser = browserForSuite();
  let terminal: ZvtSimulator;
  let register: ScriptedRegister;
  let page: Page;
  const complaints: string[] = [];
  beforeAll(async () => {
    if (!haveChromium) return;
    terminal = await startTerminalSimulator({
      tcp,
      controlPort: 0,
      pace: { customerMs: 0, hostMs: 0, rebootMs: 50 },
    });
    await connect();
    // A display that moves is drawn sixty times a second.
    page = await (await browser().newContext({ reducedMotion: "reduce" })).newPage();
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(`${terminal.controlUrl}/`);
  });
  afterAll(async () => {
    await register?.close();
    await terminal?.close();
  });

  async function connect(): Promise<void> {
    await register?.close();
    register = await ScriptedRegister.tcp(Number(terminal.endpoints.tcp?.port));
    await register.run(REGISTRATION_WITHOUT_PRINT);
  }

  const reconnected = () =>
    expect
      .poll(() =>
        connect().then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);

  const display = (expected: RegExp) =>
    expect.poll(() => page.locator(".display").innerText()).toMatch(expected);
  const press = (name: string | RegExp) => page.getByRole("button", { name }).first().click();
  const choose = async (language: string) => {
    await page.locator("header select").selectOption(language);
    await expect.poll(() => page.evaluate("document.documentElement.lang")).toBe(language);
  };
  /** The window as at the start. */
  const restored = async () => {
    await page.emulateMedia({ colorScheme: null });
    await page.setViewportSize({ width: 1280, height: 720 });
    await choose("en");
  };
  const pay = async (amountMinor: number) =>
    (await register.run(authorisation(amountMinor))).at(-1);

  /** Takes the pictures while the page reads the same state again and again. */
  const stays = async (state: string) => {
    const body = await (await fetch(new URL("/state", page.url()))).text();
    await page.route("**/state", (route) =>
      route.fulfill({ contentType: "application/json", body }),
    );
    await pictured(page, state);
    await page.unroute("**/state");
  };

  // The first one: each line that the wire has by then is examined in each size.
  test("the page is easy to use on desktop and phone, light and dark, idle and busy", async () => {
    const faultsIn = async (what: string, ...schemes: ("light" | "dark")[]) => {
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme });
        for (const size of sizes) {
          await page.setViewportSize(size);
          expect([what, colorScheme, size, await hardToUse(page)]).toEqual([
            what,
            colorScheme,
            size,
            [],
          ]);
        }
        // What is there otherwise has other words and colours, but no parts of its own.
        if (!isWhole && what === "card") continue;
        const rules = isWhole || what === "idle" ? "all" : "colours";
        expect([what, colorScheme, await axeFaults(page, rules)]).toEqual([what, colorScheme, []]);
      }
    };
    onTestFinished(async () => {
      await restored();
      await reconnected();
    });
    await display(/Welcome/);
    expect(await pay(1200)).toBe("060f00");
    await expect.poll(() => page.locator(".wire").innerText()).toMatch(/status-information/);
    await display(/Welcome/);
    await faultsIn("idle", "light");
    if (isWhole) await faultsIn("idle", "dark");
    if (picturesFolder !== undefined) await display(/Welcome/);
    await pictured(page, "terminal/idle");
    await press("is you");
    const paid = pay(800);
    await display(/present card/);
    // The sentence below the terminal changes after its display.
    await page.getByText("The terminal waits for a card.").waitFor();
    await faultsIn("card", "light");
    await pictured(page, "terminal/card");
    await press(/^Approved/);
    await paid;
    await display(/Approved/);
    await stays("terminal/approved");
    await press("Switch off");
    await display(/No power/);
    await page.getByText("The terminal is off: no payment can start.").waitFor();
    await faultsIn("off", "dark");
    await pictured(page, "terminal/off");
    await press("All as at the start");
    expect(complaints).toEqual([]);
  });

  test("a person pays with each kind of card, and the display shows it", async () => {
    await display(/Welcome/);
    await press("is you");
    await expect.poll(() => terminal.terminal.parts.customer.plays).toBe("manual");
    const customers = [
      [/^Approved/, /12\.00 EUR[\s\S]*Approved/, "060f00"],
      [/^Wrong PIN first/, /Approved/, "060f00"],
      [/^Declined/, /Declined/, "061e0105"],
      [/^Stop, red key/, /Cancelled/, "061e016c"],
      [/^Walks away/, /Time is over/, "061e016c"],
    ] as const;
    for (const [button, displayed, end] of rowsOf(customers, 2)) {
      const paid = pay(1200);
      await display(/12\.00 EUR[\s\S]*present card/);
      await press(button);
      expect(await paid).toBe(end);
      await display(displayed);
      if (end === "061e0105") await stays("terminal/declined");
      else if (!isWhole) continue;
      const faults = [await hardToUse(page), await axeFaults(page, isWhole ? "all" : "colours")];
      expect([button, ...faults]).toEqual([button, [], []]);
    }
    await page.getByRole("radio", { name: /girocard/ }).check();
    const paid = pay(1205);
    await display(/present card/);
    await press(/^PIN on the keypad/);
    for (const pin of ["0000", "1234"]) {
      await display(/Enter PIN\s+○○○○/);
      await page.getByText("Type a made-up PIN").waitFor();
      if (pin === "1234") await pictured(page, "terminal/pin");
      for (const digit of pin) await page.getByRole("button", { name: digit, exact: true }).click();
      await display(/●●●●/);
      await press(/^OK, green key/);
    }
    expect(await paid).toBe("060f00");
    expect(terminal.ledger.entries.at(-1)).toMatchObject({
      amountMinor: 1205,
      maskedPan: expect.stringMatching(/^672559/),
    });
    await expect
      .poll(() => page.locator(".wire").innerText())
      .toMatch(/0601 authorisation\s+amount 1205 minor units[\s\S]*040f status-information/);
    expect(await page.evaluate(overflow)).toBe(0);
    expect(complaints).toEqual([]);
  });

  test.each(smallSizes)("at $width x $height the terminal is seen whole", async (size) => {
    onTestFinished(restored);
    await page.setViewportSize(size);
    await press("is you");
    const paid = pay(123_456);
    await display(/1234\.56 EUR[\s\S]*present card/);
    const keys = ".keys button, .plugs button";
    const amountAndState = ".display .amount, .display .words";
    const ways = ".ways .approve, .ways .decline";
    for (const language of rowsOf(languages, 2)) {
      await choose(language);
      const all = [keys, amountAndState, ways].join();
      expect([language, await hiddenParts(page, all)]).toEqual([language, []]);
      expect([language, await hardToUse(page)]).toEqual([language, []]);
      // Wherever a person scrolls to, the terminal says what it does, and nothing covers the rest.
      expect(await hiddenParts(page, `${buttons}, select, input, summary`, true)).toEqual([]);
      expect(await hiddenParts(page, amountAndState)).toEqual([]);
      await page.evaluate("scrollTo(0, 0)");
    }
    await choose("en");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect([colorScheme, await hardToUse(page)]).toEqual([colorScheme, []]);
      if (!isWhole) continue;
      expect([colorScheme, await axeFaults(page, "colours")]).toEqual([colorScheme, []]);
    }
    await press(/^Approved/);
    expect(await paid).toBe("060f00");
    await press("pays alone");
  });

  test("at 200 % on the screen of a small kiosk everything can be reached", async () => {
    onTestFinished(restored);
    await page.setViewportSize({ width: 400, height: 240 });
    expect(await hardToUse(page)).toEqual([]);
    expect(await hiddenParts(page, `${buttons}, select, input`, true)).toEqual([]);
  });

  test("the page has the languages of the console, and so has the display", async () => {
    onTestFinished(() => choose("en"));
    const titles = new Set<string>();
    for (const language of languages) {
      await choose(language);
      expect(await page.title()).toBe(await page.locator("h1").innerText());
      titles.add(await page.title());
      if (isWhole) expect([language, await axeFaults(page)]).toEqual([language, []]);
    }
    expect(titles.size).toBe(languages.length);
    await choose("it");
    await display(/Benvenuto/);
    await page.reload();
    await display(/Benvenuto/);
    await page.getByRole("button", { name: "è Lei" }).click();
    const paid = pay(1200);
    await display(/12\.00 EUR[\s\S]*inserire la carta/);
    await page.getByRole("button", { name: /^Rifiutato/ }).click();
    expect(await paid).toBe("061e0105");
    await display(/Pagamento rifiutato/);
    await page.getByRole("button", { name: "paga da solo" }).click();
  });

  test("a payment needs no mouse; the focus is visible, and stays where it is", async () => {
    await page.reload();
    await display(/Welcome/);
    const focus = () => page.evaluate(nameOfFocus);
    const goTo = async (name: RegExp, key = "Tab") => {
      for (let steps = 0; steps < 60; steps += 1) {
        await page.keyboard.press(key);
        if (name.test(String(await focus()))) return await hasOutline();
      }
      throw new Error(`the keyboard does not reach ${name}`);
    };
    const hasOutline = async () =>
      expect(await page.evaluate("getComputedStyle(document.activeElement).outline")).toMatch(
        /solid 3px/,
      );
    await goTo(/^is you/);
    await page.keyboard.press("Enter");
    await expect.poll(() => terminal.terminal.parts.customer.plays).toBe("manual");
    const paid = pay(1200);
    await display(/present card/);
    const card = page.getByRole("button", { name: /^PIN on the keypad/ });
    await expect.poll(() => card.isEnabled()).toBe(true);
    await goTo(/^PIN on the keypad/);
    await page.keyboard.press("Enter");
    await display(/Enter PIN/);
    expect(await focus()).toMatch(/^PIN on the keypad/);
    await hasOutline();
    const digit = page.getByRole("button", { name: "1", exact: true });
    await expect.poll(() => digit.isEnabled()).toBe(true);
    await goTo(/^1$/, "Shift+Tab");
    for (const _ of "1111") await page.keyboard.press("Space");
    await display(/●●●●/);
    await goTo(/^OK, green key/);
    await page.keyboard.press("Enter");
    expect(await paid).toBe("060f00");
    await display(/Approved/);
    expect(await focus()).toBe("OK, green key");
    await hasOutline();
    await press("pays alone");
  });

  test("without a simulator the page says how to start one; motion can be reduced", async () => {
    const other = await startTerminalSimulator({ controlPort: 0, tcp });
    const tab = await (await browser().newContext({ reducedMotion: "no-preference" })).newPage();
    onTestFinished(async () => {
      await tab.close();
      await other.close();
    });
    await tab.goto(`${other.controlUrl}/`);
    await tab.getByRole("button", { name: "is you" }).waitFor();
    // An open slot moves: the class alone makes it one.
    await tab.evaluate(`document.querySelector(".slot").classList.add("open")`);
    const moving = () => tab.evaluate("document.getAnimations().length");
    expect(await moving()).toBe(1);
    await tab.emulateMedia({ reducedMotion: "reduce" });
    expect(await moving()).toBe(0);
    await other.close();
    await tab.getByRole("alert").waitFor();
    expect(await tab.getByRole("alert").innerText()).toMatch(
      /\.\/launch\.sh --demo\. This page reconnects by itself/,
    );
    await pictured(tab, "terminal/away");
    expect([await hardToUse(tab), await axeFaults(tab)]).toEqual([[], []]);
  });

  test("a hidden page closes its connection, and opens it again when it is shown", async () => {
    const events = (request: { url(): string }) => request.url().endsWith("/events");
    const ended = page.waitForEvent("requestfailed", events);
    await page.evaluate(setHidden(true));
    await ended;
    const again = page.waitForRequest(events);
    await page.evaluate(setHidden(false));
    await again;
  });

  test("cable, power, paper and locks act as labelled; a fault is armed and disarmed", async () => {
    const condition = (expected: string) =>
      expect.poll(() => page.locator(".condition").innerText()).toBe(expected);
    const pressed = async (name: string, expected: string) => {
      await press(name);
      await condition(expected);
    };
    await condition("ready");
    await pressed("Forget registration", "unregistered");
    await display(/unregistered/);
    await pressed("Paper out", "locked");
    await display(/Paper is out/);
    expect(await pay(700)).toBe("061e01cc");
    await pressed("Paper out", "unregistered");
    await pressed("In its menu", "busy");
    expect(await pay(700)).toBe("849c00");
    await pressed("In its menu", "unregistered");
    await pressed("Pull the cable", "unplugged");
    expect(await register.next()).toBe("closed");
    await pressed("Plug the cable in", "unregistered");
    await pressed("Switch off", "off");
    await display(/^No power$/);
    await pressed("Switch on", "unregistered");
    await reconnected();
    await condition("ready");
    await page.getByLabel("Fault").selectOption("hold");
    const bench = () => page.locator(".bench").innerText();
    await expect.poll(bench).toContain("stop at a moment until");
    await page.getByLabel(/^at/).selectOption("accepted");
    await press(/^Arm/);
    const armed = () => page.locator(".device .armed").innerText();
    await expect.poll(armed).toContain("Fault armed: hold at accepted");
    await stays("terminal/fault-armed");
    const paid = pay(700);
    await expect
      .poll(() => page.locator(".wire").innerText())
      .toMatch(/accepted\s+[\d:.]+\s+fault\s+fault hold/);
    // The fault that has struck is not armed any more, and holds the payment until it is disarmed.
    await expect.poll(armed).not.toContain("Fault armed");
    await press("Disarm");
    expect(await paid).toBe("060f00");
    await press("All as at the start");
    await expect.poll(armed).not.toContain("Fault armed");
    expect(terminal.terminal.parts.customer.plays).toBe("auto");
    const footer = () => page.locator("footer").innerText();
    await expect.poll(footer).toContain("./launch.sh simulate reset");
  });

  test("with Caisse-AP the wire is shown tag by tag, and no button lacks an effect", async () => {
    const bare = { transport: "tcp", family: "caisse-ap", sessions: false } as const;
    const french = await startFrench(bare, { controlPort: 0 });
    await page.goto(`${french.simulator.controlUrl}/`);
    onTestFinished(async () => void (await page.goto(`${terminal.controlUrl}/`)));
    await display(/Welcome/);
    french.register.say(taggedRequest(1200, { CF: "K-7" }));
    await display(/12\.00 EUR[\s\S]*Approved/);
    const wire = page.locator(".wire");
    await expect
      .poll(() => wire.innerText())
      .toMatch(/CD 0 debit\s+12\.00 EUR, register 01[\s\S]*AE 10 done\s+12\.00 EUR, card 541333/);
    await wire.getByText("CD 0 debit").click();
    expect(await wire.locator("details[open]").innerText()).toMatch(
      /CB amount\s+1200 12\.00 EUR[\s\S]*CF private data\s+K-7[\s\S]*CB 004 1200\|/,
    );
    const bench = await page.locator(".bench").innerText();
    expect(bench).toContain("the kiosk cannot notice it");
    expect(bench).not.toContain("Forget registration");
    expect(await wire.innerText()).not.toContain("status enquiries");
    expect(await page.getByLabel("Fault").innerText()).not.toContain("nak-enq");
    expect(await hardToUse(page)).toEqual([]);
    expect(await axeFaults(page)).toEqual([]);
    await stays("terminal/caisse-ap");
    // Nor with nexo, whose terminals have a name and register nobody.
    const options = completed(nexoProtocol.defaults, systemClock, { tcp, controlPort: 0 });
    const nexo = await openTerminal(nexoProtocol, options);
    onTestFinished(() => nexo.close());
    await page.goto(`${nexo.controlUrl}/`);
    await display(/Welcome/);
    const namedBench = await page.locator(".bench").innerText();
    expect(namedBench).toMatch(/^(?![\s\S]*Forget registration)[\s\S]*Another terminal/);
  });

  test("pages of other origins can open the page, but neither read nor do anything", async () => {
    const other = await (await browser().newContext()).newPage();
    onTestFinished(() => other.close());
    await other.goto(`${terminal.controlUrl?.replace("127.0.0.1", "localhost")}/`);
    const tried = (await other.evaluate(`Promise.all(["/words", "/state", "/ledger"].map((path) =>
      fetch("${terminal.controlUrl}" + path, {
        method: path === "/words" ? "POST" : "GET",
        mode: "no-cors",
        body: path === "/words" ? '{"word":"lock"}' : undefined,
      }).then(() => "through", () => "stopped")))`)) as string[];
    // The page's own policy stops it; without one the program does.
    expect(tried).toEqual(["stopped", "stopped", "stopped"]);
    const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" };
    expect((await fetch(`${terminal.controlUrl}/ledger`, { headers })).status).toBe(403);
    expect(terminal.terminal.parts.outOfOrder).toBe(false);
  });
});

/** All but the one that disarms faults when none is armed. */
const buttons = "button:not(.armed :disabled)";

const nameOfFocus =
  "(({ ariaLabel, innerText }) => ariaLabel ?? innerText)(document.activeElement)";

/** How far a word without a break makes the display wider. */
const overflow = `(() => {
  const display = document.querySelector(".display");
  const before = display.scrollWidth;
  const long = document.createElement("p");
  long.textContent = "W".repeat(60);
  display.append(long);
  const wider = display.scrollWidth - before;
  long.remove();
  return wider;
})()`;

/** As when another tab is chosen; a page that is driven believes to be in front always. */
const setHidden = (hidden: boolean) => `
  Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
  document.dispatchEvent(new Event("visibilitychange"))`;

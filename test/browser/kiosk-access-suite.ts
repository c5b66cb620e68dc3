import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { rowsOf } from "../support/run/scope.ts";
import { axeFaults } from "./axe-faults.ts";
import { haveChromium } from "./chromium.ts";
import {
  approved,
  charged,
  customersOf,
  declined,
  paid,
  styles,
  unknown,
} from "./kiosk-customers.ts";
import { everyState, pictured } from "./pictures.ts";
import { PlayedConnector } from "./played-connector.ts";
import { hardToUse } from "./readable.ts";

/** A voice that keeps what it was given to read. */
const voice = `
  window.read = [];
  Object.defineProperty(window, "speechSynthesis", { value: {
    cancel: () => window.read.push(["", "stop"]),
    speak: ({ text, lang }) => window.read.push([lang, text]),
  } });
  window.SpeechSynthesisUtterance = function (text) { this.text = text; };
`;

/** A dispenser that takes as long as the test wants. */
const waiting = `
  export const handOut = () => new Promise((end) => (window.ticketIsOut = () => end(true)));
  export const wasHandedOut = async () => false;
  export const forget = async () => {};
`;

/** Whether anything on the page moves or can move, and each message that stands on it. */
const motion = `[...document.querySelectorAll("*")].filter((element) => {
  const { animationName, transitionDuration } = getComputedStyle(element);
  return animationName !== "none" || transitionDuration !== "0s";
}).length + document.getAnimations().length`;

/** The end screens that a person would have to scroll, of all outcomes in all languages. */
const scrolling = `(async () => {
  const { show } = await import("/screen.js");
  const { speak } = await import("/texts.js");
  const { customerLanguages, customerMessages } = await import("/customer-messages.js");
  const order = { orderId: "T-mi2k3v4x-abcdefgh", name: "airport", amount: 12 };
  const found = [];
  for (const language of customerLanguages) {
    speak(language);
    for (const [name, texts] of Object.entries(customerMessages)) {
      const message = () => texts[language];
      const endsMs = performance.now() + 30_000;
      show({ screen: "end", order, again: order, message, endsMs });
      if (document.documentElement.scrollHeight > innerHeight) found.push(language + " " + name);
    }
  }
  return found;
})()`;

describe.skipIf(!haveChromium)("the sample kiosk, for everybody (docs/accessibility.md)", () => {
  const at = new PlayedConnector();
  const kiosk = customersOf(at);

  const views = [
    [{ width: 390, height: 844 }, []],
    [{ width: 800, height: 480 }, []],
    [{ width: 800, height: 480 }, ["large"]],
    [{ width: 1280, height: 900 }, ["large", "contrast"]],
    [{ width: 390, height: 844 }, ["large", "contrast"]],
    [{ width: 1080, height: 1920 }, ["large"]],
  ] as const;
  test.each(rowsOf(views, 3))("at %o, %s, every ticket is in view", async (viewport, aids) => {
    const { page, shows } = await kiosk({ viewport });
    await shows(/Which ticket would you like/);
    for (const aid of aids) await page.locator(`#aids [name=${aid}]`).click();
    for (const language of await page.locator("#languages button").all()) {
      await language.click();
      const hidden = await page.evaluate(`[...tickets.children, ...aids.children].filter((one) => {
        const { top, bottom, left, right } = one.getBoundingClientRect();
        return top < 0 || left < 0 || bottom > innerHeight || right > innerWidth
          || one.scrollWidth > one.clientWidth;
      }).map((one) => document.documentElement.lang + " " + one.innerText)`);
      expect(hidden).toEqual([]);
      expect(await hardToUse(page)).toEqual([]);
    }
    expect(await page.evaluate(scrolling)).toEqual([]);
  });

  test("nothing is cut off at 320 pixels", async () => {
    for (const aid of ["", "Large text"]) {
      const { page, shows, buys, press } = await kiosk({ viewport: { width: 320, height: 640 } });
      if (aid) await press(aid);
      await shows(/Which ticket would you like/);
      expect([aid, await hardToUse(page)]).toEqual([aid, []]);
      await buys(/^Day ticket/);
      at.announce("payment", { state: "running", secondsLeft: 170 });
      await shows(/Time left/);
      expect([aid, await hardToUse(page)]).toEqual([aid, []]);
      at.ends(declined);
      await shows(/Your card was refused/);
      expect([aid, await hardToUse(page)]).toEqual([aid, []]);
    }
  });

  test("large text is twice the size, and a reload keeps what was chosen", async () => {
    const { page, press, shows } = await kiosk({ viewport: { width: 1280, height: 900 } });
    const size = () => page.evaluate("parseFloat(getComputedStyle(heading).fontSize)");
    const before = Number(await size());
    await press("Large text");
    await press("High contrast");
    expect(Number(await size()) / before).toBeCloseTo(2, 1);
    await page.reload();
    await shows(/Which ticket would you like/);
    const pressed = page.locator("#aids [aria-pressed=true]");
    expect(await pressed.allInnerTexts()).toEqual(["Large text", "High contrast"]);
    const paper = "getComputedStyle(document.documentElement).backgroundColor";
    expect(await page.evaluate(paper)).toBe("rgb(0, 0, 0)");
  });

  test("a browser that is set to more contrast begins with it", async () => {
    const { page, shows } = await kiosk({ contrast: "more" });
    await shows(/Which ticket would you like/);
    expect(await page.locator("#aids [aria-pressed=true]").allInnerTexts()).toEqual([
      "High contrast",
    ]);
  });

  test("the keyboard alone buys a ticket, and its focus is never lost", async () => {
    const { page, shows, focused } = await kiosk();
    const tabTo = async (name: string) => {
      for (let keys = 0; keys < 20; keys++) {
        if ((await focused()) === name) return;
        await page.keyboard.press("Tab");
      }
      throw new Error(`the keyboard does not reach ${name}`);
    };
    await shows(/Which ticket would you like/);
    await tabTo("airport");
    const before = at.payments.length;
    await page.keyboard.press("Enter");
    await shows(/Airport, 12\.00\sEUR/);
    expect(await focused()).toBe("heading");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("cancel");
    await page.keyboard.press("Enter");
    await expect.poll(focused).toBe("heading");
    at.ends(declined);
    await shows(/Your card was refused/);
    expect(await focused()).toBe("heading");
    // The languages, which alone have no name, come after the last button: each key draws anew.
    await tabTo("");
    await tabTo("again");
    await page.keyboard.press("Enter");
    await expect.poll(() => at.payments.length).toBe(before + 2);
    at.ends(paid);
    await shows(/Your payment is complete/);
    await tabTo("leave");
    // A key that is pressed twice, or bounces, begins no second purchase.
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await shows(/Which ticket would you like/);
    expect([await focused(), at.payments.length]).toEqual(["heading", before + 2]);
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("old-town");
    // A choice about the page leaves the focus where it is.
    await tabTo("large");
    await page.keyboard.press("Space");
    expect(await focused()).toBe("large");
  });

  const chosen = everyState ? styles : [["large"]];
  test.each(chosen)("axe finds nothing on any screen (%s)", async (...aids: string[]) => {
    const { page, shows, press, buys } = await kiosk({ reducedMotion: "reduce" });
    for (const aid of aids) await page.locator(`#aids [name=${aid}]`).click();
    const check = async (expected: RegExp, state: string) => {
      await shows(expected);
      await pictured(page, ["kiosk/for-all", state, ...aids].join("-"), /status of 503/);
      expect([String(expected), await axeFaults(page), await hardToUse(page)]).toEqual([
        String(expected),
        [],
        [],
      ]);
      expect(await page.evaluate(motion)).toBe(0);
    };
    await check(/Which ticket would you like/, "start");
    await buys(/^Airport/);
    at.announce("payment", { state: "running", secondsLeft: 170 });
    at.announce("prompt", { text: "Insert card", texts: null });
    await check(/Insert card\s+Time left: 2 minutes/, "paying");
    at.announce("time-warning", { secondsLeft: 30 });
    await check(/Insert card\nThe time for this payment is nearly over/, "warned");
    at.ends(declined);
    await check(/Your card was refused/, "declined");
    await buys("Try again");
    at.ends(charged);
    await page.locator("#listed summary").click();
    await check(/Order number: T.*\n\(the ticket did not come out\)\s+.* in (1 m|5\d s)/, "staff");
    await page.locator("#listed summary").click();
    await press("OK");
    await buys(/^Day ticket/);
    await press("Cancel");
    await check(/Day ticket[\s\S]*You have asked to cancel this payment/, "cancelled");
    at.ends(unknown);
    await check(/not known yet whether your card was charged/, "unknown");
    at.lookup = paid;
    await check(/Your payment is complete/, "paid");
    await press("OK");
    at.isReady = false;
    at.announce("terminal");
    await check(/^Out of service/, "out-of-service");
  });

  test("the time that is left is shown and counts down, in each language", async () => {
    const { shows, press, buys, page } = await kiosk({}, (one) => one.clock.install());
    await buys(/^Airport/);
    expect(await page.locator("#time").innerText()).toBe("");
    // A second that passes by itself may be over before anybody looks at it.
    await page.clock.pauseAt(Number(await page.evaluate("Date.now() + 1_000")));
    at.announce("payment", { state: "running", secondsLeft: 62 });
    await shows(/Time left: 1 minute 2 seconds\b/);
    await page.clock.runFor(1_000);
    await shows(/Time left: 1 minute 1 second\b/);
    await page.clock.runFor(2_000);
    await shows(/Time left: 59 seconds/);
    await press("DE");
    await shows(/Verbleibende Zeit: 59 Sekunden/);
    await press("FR");
    await shows(/Temps restant : 59\s+secondes/);
    at.announce("time-warning", { secondsLeft: 30 });
    await shows(/Le temps pour ce paiement est presque écoulé\.\s+Temps restant : 30\s+secondes/);
    await page.clock.resume();
    // After a reload the answer of /health has it.
    const orderId = at.payments.at(-1)?.orderId;
    at.running = { orderId, prompt: "Insert card", promptTexts: null, secondsLeft: 20 };
    await page.reload();
    await shows(/Insert card\s+Temps restant : \d\d\s+secondes/);
    at.running = null;
    at.lookup = declined;
    await shows(/Votre carte a été refusée/);
  });

  test("an approved sale has no time that a customer must hurry for", async () => {
    const { shows, press, buys, page } = await kiosk({}, () => {
      at.files = { "dispenser.js": waiting };
    });
    await buys(/^Airport/);
    at.announce("payment", { state: "running", secondsLeft: 100 });
    await shows(/Time left/);
    at.ends(approved);
    await shows(/Your ticket is being printed/);
    at.announce("payment", { state: "approved", secondsLeft: 30 });
    at.announce("time-warning", { secondsLeft: 30 });
    at.announce("prompt", { text: "Please wait", texts: null });
    await shows(/Please wait/);
    expect(await page.locator("main").innerText()).not.toMatch(/Time|time/);
    // The goods are coming out, so nothing can be cancelled any more.
    expect(await page.locator("main button:visible").count()).toBe(0);
    await page.evaluate("ticketIsOut()");
    await shows(/Your payment is complete/);
    await press("OK");
  });

  test("nothing is read aloud until it is asked for, then each message is", async () => {
    const { page, shows, press, buys } = await kiosk({}, (one) => one.addInitScript(voice));
    const read = () => page.evaluate("window.read.splice(0)") as Promise<[string, string][]>;
    const hears = async (lang: string, text: RegExp) => {
      const all: [string, string][] = [];
      await expect
        .poll(async () => {
          all.push(...(await read()));
          return all.some(([in_, said]) => in_ === lang && text.test(said));
        })
        .toBe(true);
    };
    await shows(/Which ticket would you like/);
    await press("DE");
    expect((await read()).filter(([lang]) => lang !== "")).toEqual([]);
    await press("Vorlesen");
    await hears("de", /^Welche Fahrkarte möchten Sie\?/);
    await page.locator("[name=airport]").focus();
    await hears("de", /Flughafen\s+12,00\sEUR/);
    await press("EN");
    await hears("en", /^Which ticket would you like\?/);
    await buys(/^Airport/);
    at.announce("payment", { state: "running", secondsLeft: 120 });
    await shows(/Time left/);
    at.announce("prompt", { text: "Insert card", texts: null });
    await hears("en", /Airport, 12\.00\sEUR\nInsert card\nTime left: \d minutes?/);
    at.announce("time-warning", { secondsLeft: 30 });
    await hears("en", /Insert card\nThe time for this payment is nearly over\.\nTime left: \d\d s/);
    at.ends(declined);
    await hears("en", /Your card was refused[\s\S]*This page closes in/);
    await press("Read aloud");
    await read();
    await press("FR");
    await shows(/Votre carte a été refusée/);
    expect((await read()).filter(([lang]) => lang !== "")).toEqual([]);
  });

  test("a browser without a voice has no button for it", async () => {
    const mute = `Object.defineProperty(window, "speechSynthesis", { value: undefined })`;
    const { page, shows } = await kiosk({}, (one) => one.addInitScript(mute));
    await shows(/Which ticket would you like/);
    expect(await page.locator("#aids button:visible").count()).toBe(2);
  });

  test("the end screen stays for everybody who touches it, then is as the kiosk was", async () => {
    const { page, shows, press, buys } = await kiosk({}, (one) => one.clock.install());
    await shows(/Which ticket would you like/);
    await press("FR");
    await press("Grands caractères");
    await buys(/^Aéroport/);
    at.ends(paid);
    await shows(/Cette page se ferme dans \d+\s+secondes/);
    for (let touches = 0; touches < 3; touches++) {
      // In addition time passes by itself, and the screen stays for 30 seconds.
      await page.clock.runFor(18_000);
      await shows(/Votre paiement est effectué/);
      await page.keyboard.press("Shift");
    }
    await page.clock.runFor(31_000);
    await shows(/Which ticket would you like/);
    expect(await page.locator("#aids [aria-pressed=true]").count()).toBe(0);
    // An order that is not clear does not keep the kiosk from its next customer.
    await buys(/^Airport/);
    at.ends(unknown);
    await shows(/not known yet whether your card was charged[\s\S]*This page closes in/);
    await page.clock.runFor(61_000);
    await shows(/Which ticket would you like/);
    expect(await page.locator("#listed").innerText()).toBe("For the staff: 1");
    // Nor is anybody here for an order of an hour ago.
    await buys(/^Airport/);
    await page.clock.setSystemTime(Date.now() + 3_600_000);
    await page.reload();
    await shows(/Which ticket would you like/);
    await expect.poll(() => page.locator("#listed").innerText()).toBe("For the staff: 2");
  });

  test("offers nothing as soon as the connector or its terminal is away", async () => {
    const { page, shows } = await kiosk();
    const tickets = page.locator("#tickets button:visible");
    await shows(/Which ticket would you like/);
    expect(await tickets.count()).toBe(3);
    at.goesAway();
    await shows(/^Out of service\s+Card payment is not possible here[^.]*\. [^.]*staff\.$/);
    expect(await tickets.count()).toBe(0);
    at.isAway = false;
    await shows(/Which ticket would you like/);
    await expect.poll(() => at.isFollowed).toBe(true);
    at.isReady = false;
    at.announce("terminal");
    await shows(/^Out of service/);
    at.isReady = true;
    at.announce("terminal");
    await shows(/Which ticket would you like/);
  });

  test.each(
    rowsOf(
      [
        ["de-AT", /Welche Fahrkarte möchten Sie/, "de"],
        ["fr-CH", /Quel billet souhaitez-vous/, "fr"],
        ["sv-SE", /Which ticket would you like/, "en"],
      ] as const,
      2,
    ),
  )("begins in the language of a browser in %s", async (locale, expected, lang) => {
    const { page, shows } = await kiosk({ locale });
    await shows(expected);
    expect(await page.evaluate("document.documentElement.lang")).toBe(lang);
    const own = "[...document.querySelectorAll('nav, fieldset')].map((one) => one.ariaLabel)";
    const labels = (await page.evaluate(own)) as string[];
    expect(labels).toHaveLength(2);
    if (lang !== "en") expect(labels.join()).not.toMatch(/Language|Display/);
  });

  test("an owner's title of the page stays, and the sample's own is translated", async () => {
    const { page, shows, press } = await kiosk();
    await shows(/Which ticket would you like/);
    await press("FR");
    expect(await page.title()).toBe("Billetterie");
    const sample = readFileSync(join(projectRoot, "examples/kiosk/index.html"), "utf8");
    const own = sample.replace("<title>Ticket machine<", "<title>North station, platform 7<");
    at.files = { "index.html": own };
    await page.reload();
    await shows(/Quel billet souhaitez-vous/);
    await press("EN");
    expect(await page.title()).toBe("North station, platform 7");
  });

  test("a session that is over says one thing only, in the middle of a payment too", async () => {
    const { page, shows, buys } = await kiosk();
    await buys(/^Airport/);
    at.announce("prompt", { text: "Insert card", texts: null });
    await shows(/Insert card/);
    await page.route("**/api/**", (route) => route.fulfill({ status: 401, json: [{}] }));
    at.announce("terminal");
    await shows(/^Airport, 12\.00\sEUR\s+Please wait: this screen is being started again\.$/);
    expect(await page.locator("main button:visible").count()).toBe(0);
    // Once the outcome is known, it is the one thing to say.
    at.ends(paid);
    await shows(
      /^Airport, 12\.00\sEUR\s+Thank you\. Your payment is complete\.\s+Please take your/,
    );
    await page.getByRole("button", { name: "OK", exact: true }).click();
    await shows(/^One moment, please\.\s+Please wait: this screen is being started again\.$/);
  });
});

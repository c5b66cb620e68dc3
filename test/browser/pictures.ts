import { appendFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { isWhole } from "../support/run/scope.ts";
import { axeFaults } from "./axe-faults.ts";

/** The states that a run with pictures has to reach, at least: `scripts/page-pictures.ts`. */
export const states = [
  "console/log-in",
  "console/now",
  "console/now-lost",
  "console/now-silent",
  "console/menu",
  "console/payments",
  "console/timeline-A1001",
  "console/timeline-D1",
  "console/timeline-C1",
  "console/timeline-B8",
  "console/timeline-ask",
  "console/timeline-de",
  "console/doubt",
  "console/ask",
  "console/doubt-waiting",
  "console/doubt-gateway",
  "console/doubt-asking",
  "console/accept-ask",
  "console/day",
  "console/day-tables",
  "console/day-empty",
  "console/maintenance",
  "console/care",
  "kiosk/start",
  "kiosk/no-session",
  "kiosk/paying",
  "kiosk/printing",
  "kiosk/paid",
  "kiosk/declined",
  "kiosk/not-charged",
  "kiosk/unknown",
  "kiosk/connector-away",
  "kiosk/for-all-start",
  "kiosk/for-all-paying",
  "kiosk/for-all-warned",
  "kiosk/for-all-declined",
  "kiosk/for-all-staff",
  "kiosk/for-all-cancelled",
  "kiosk/for-all-unknown",
  "kiosk/for-all-paid",
  "kiosk/for-all-out-of-service",
  "kiosk/for-all-start-large",
  "kiosk/for-all-start-contrast",
  "terminal/idle",
  "terminal/card",
  "terminal/pin",
  "terminal/approved",
  "terminal/declined",
  "terminal/off",
  "terminal/fault-armed",
  "terminal/caisse-ap",
  "terminal/away",
  "payment/form",
  "payment/wrong-field",
  "payment/paid",
  "payment/refused",
  "payment/cancelled",
  "payment/missing",
  "sandbox/empty",
  "sandbox/orders",
  "sandbox/refused-action",
];

/** What is known of a state: a line of `states.jsonl` in the folder of the pictures. */
export interface StateRecord {
  /** Page and state, as in {@link states}. */
  readonly state: string;
  /** The files, in the order of {@link sizes}, light before dark. */
  readonly pictures: readonly string[];
  readonly findings: readonly string[];
}

export const sizes = [
  { width: 1280, height: 800 },
  { width: 800, height: 480 },
  { width: 390, height: 844 },
] as const;

/** Where a run puts the pictures; undefined: the tests run without them. */
export const picturesFolder = process.env["PICTURES"];

/** Every state of a page is checked, not only those that differ most. */
export const everyState = isWhole || picturesFolder !== undefined;

/**
 * Takes the pictures of a page in one of its states and writes down what axe and the keyboard find;
 * does nothing in a run without pictures. `failing`: lines of the browser's log that the test has
 * brought about. The page keeps its window and its focus, and stays with less motion.
 */
export async function pictured(page: Page, state: string, failing?: RegExp): Promise<void> {
  if (picturesFolder === undefined) return;
  const window = page.viewportSize();
  const before = await textOf(page);
  const pictures: string[] = [];
  const findings = (await logged(page, failing)).map((line) => `${state}: ${line}`);
  mkdirSync(dirname(join(picturesFolder, state)), { recursive: true });
  await page.emulateMedia({ reducedMotion: "reduce" });
  for (const size of sizes) {
    await page.setViewportSize(size);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(drawn);
      const name = `${state}-${size.width}x${size.height}-${colorScheme}`;
      const isLight = colorScheme === "light";
      const found = [...(await axeFaults(page)), ...(isLight ? await unusable(page) : [])];
      findings.push(...found.map((fault) => `${name}: ${fault}`));
      for (const whole of (await page.evaluate(isTaller)) ? [false, true] : [false]) {
        const file = `${name}${whole ? "-whole" : ""}.png`;
        await page.screenshot({ path: join(picturesFolder, file), fullPage: whole });
        pictures.push(file);
      }
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  if (window) await page.setViewportSize(window);
  const after = await textOf(page);
  if (after !== before) findings.push(`${state}: changed, from ${before} to ${after}`);
  const record: StateRecord = { state, pictures, findings };
  appendFileSync(join(picturesFolder, "states.jsonl"), `${JSON.stringify(record)}\n`);
}

/** Without numbers, and without the time that is left, whose words change with it. */
const textOf = (page: Page) =>
  page.evaluate(`document.body.innerText.replace(/\\d+\\s+(minute|second)s?/g, "")
    .replace(/[\\d\\s]+/g, " ")`);

/** Errors of the browser's log since the last state. */
async function logged(page: Page, failing = /^$/): Promise<string[]> {
  const messages = (await page.consoleMessages({ filter: "since-navigation" }))
    // No page can keep the browser from noting that nothing answers.
    .filter((message) => message.type() === "error" && !message.text().includes("net::ERR_"))
    .map((message) => `${message.text()} ${message.location().url}`);
  const errors = (await page.pageErrors({ filter: "since-navigation" })).map(String);
  await page.clearConsoleMessages();
  await page.clearPageErrors();
  return [...messages, ...errors].filter((text) => !failing.test(text));
}

/** Returns what hinders people on a page as it stands: motion, width, focus, the order of Tab. */
export async function unusable(page: Page): Promise<string[]> {
  const found = (await page.evaluate(motionAndWidth)) as string[];
  const stops = (await page.evaluate(beginWalk)) as number;
  // A field for a date has several stops.
  for (let press = 0; press < 6 * stops + 12; press++) {
    await page.keyboard.press("Tab");
    const { isOver, faults } = (await page.evaluate(atStop)) as Stop;
    found.push(...faults);
    if (isOver) break;
  }
  return [...found, ...((await page.evaluate(endWalk)) as string[])];
}

interface Stop {
  readonly isOver: boolean;
  readonly faults: readonly string[];
}

const drawn = "new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)))";

const isTaller = `(scrollTo(0, 0), document.documentElement.scrollHeight > innerHeight + 1)`;

const motionAndWidth = `(() => {
  const moving = document.getAnimations().filter(({ playState }) => playState === "running");
  const { scrollWidth } = document.documentElement;
  return [
    ...moving.map((one) => "moves: " + (one.animationName ?? one.transitionProperty)),
    ...(scrollWidth > innerWidth ? ["wider than the window: " + scrollWidth] : []),
  ];
})()`;

/** Goes to the beginning of the page, or of its open dialogue; returns how many stops Tab has. */
const beginWalk = `(() => {
  const inside = document.querySelector("dialog:modal") ?? document.body;
  const fields = "a[href], button, input, select, textarea, summary, [tabindex]";
  const stops = [...inside.querySelectorAll(fields)].filter((one) => one.tabIndex >= 0 &&
    !one.matches(":disabled, [inert] *") && one.checkVisibility({ visibilityProperty: true }));
  // Of radio buttons with one name, the chosen one is the stop, or the first.
  const isStop = (one) => {
    if (one.type !== "radio" || !one.name) return true;
    const group = stops.filter(({ type, name }) => type === "radio" && name === one.name);
    return one === (group.find(({ checked }) => checked) ?? group[0]);
  };
  const missing = new Set(stops.filter(isStop));
  window.walk = { inside, missing, had: document.activeElement, passed: new Set(), last: null };
  inside.tabIndex = -1;
  inside.focus({ preventScroll: true });
  return missing.size;
})()`;

const nameOf = `((one) => one.tagName.toLowerCase() + " " +
  (one.ariaLabel || one.labels?.[0]?.textContent || one.textContent || one.id)
    .trim().slice(0, 50))`;

/** What is wrong with the element that Tab has reached. */
const atStop = `(() => {
  const { walk } = window;
  const at = document.activeElement ?? document.body;
  // Another part of the same field.
  if (at === walk.last) return { isOver: false, faults: [] };
  walk.last = at;
  // A page may have put the focus into its middle, so the walk ends where it began.
  if (walk.passed.has(at)) return { isOver: true, faults: [] };
  if (!walk.inside.contains(at) || at === walk.inside) return { isOver: false, faults: [] };
  walk.passed.add(at);
  walk.missing.delete(at);
  const faults = [];
  const { outlineStyle, outlineWidth } = getComputedStyle(at);
  if (outlineStyle === "none" || outlineWidth === "0px") faults.push("no visible focus");
  const box = at.getClientRects()[0] ?? at.getBoundingClientRect();
  const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
  const isTall = box.height > innerHeight / 2;
  const isCut = box.top < -1 || box.bottom > innerHeight + 1;
  if (box.left < -1 || box.right > innerWidth + 1 || bottom <= top || (isCut && !isTall)) {
    faults.push("outside of the window");
  } else {
    const middle = (top + bottom) / 2;
    for (const y of isTall ? [middle] : [top + 3, middle, bottom - 3]) {
      const hit = document.elementFromPoint((box.left + box.right) / 2, y);
      if (at.contains(hit) || hit?.closest("label")?.control === at) continue;
      faults.push("under " + (hit ? ${nameOf}(hit) : "nothing"));
      break;
    }
  }
  return { isOver: false, faults: faults.map((fault) => fault + ": " + ${nameOf}(at)) };
})()`;

/** Puts the focus back where it was; returns what Tab has not reached. */
const endWalk = `(() => {
  const { inside, missing, had } = window.walk;
  inside.removeAttribute("tabindex");
  had?.focus({ preventScroll: true });
  scrollTo(0, 0);
  for (const one of document.querySelectorAll("*")) one.scrollLeft = 0;
  return [...missing].filter((one) => one.checkVisibility() && !one.matches(":disabled"))
    .map((one) => "not reached by Tab: " + ${nameOf}(one));
})()`;

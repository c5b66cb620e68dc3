/**
 * Makes the pictures of the handbooks from a running demo (`./launch.sh --demo`):
 *   npm run pictures -- [--data data/demo]
 * A ticket is bought at the sample kiosk and paid at the terminal to touch. Needs Chromium and
 * Debian's package pngquant. The demo's customer pays by hand afterwards; `--demo` resets that.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium, type Page } from "playwright-core";
import {
  apiPassword,
  OPERATOR_LOGIN,
  readDemoSetup,
  terminalControl,
} from "../src/launcher/demo/settings.ts";
import { openRunDirectory } from "../src/shared/ipc/run-directory.ts";
import { writeTicket } from "../src/shared/process/kiosk-ticket.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { readArguments } from "./command-line.ts";

const { values } = readArguments({ options: { data: { type: "string", default: "data/demo" } } });
const data = resolve(values.data);
const setup = readDemoSetup(data);
const terminal = terminalControl(data);
if (!setup || terminal === undefined) {
  process.stderr.write(`no demo runs in ${data}: ./launch.sh --demo\n`);
  process.exit(69);
}

const folder = join(projectRoot, "docs/pictures");
mkdirSync(folder, { recursive: true });

const say = (command: string): Promise<Response> =>
  fetch(new URL("/words", terminal), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ word: command, within: 20 }),
  });

/** Takes a picture of a page and reduces its colours, so that the file is small. */
async function picture(page: Page, name: string): Promise<void> {
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  execFileSync("pngquant", ["--force", "--strip", "--output", path, "48", path]);
}

const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--disable-gpu", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])],
});
const open = async (url: string, width: number, height: number): Promise<Page> => {
  const context = await browser.newContext({ locale: "en-GB", viewport: { width, height } });
  const page = await context.newPage();
  await page.goto(url);
  return page;
};

try {
  await say("by-hand");
  const touched = await open(terminal, 1000, 632);
  const ticket = writeTicket(openRunDirectory(data));
  const kiosk = await open(`http://localhost:${setup.kiosk}/#ticket=${ticket}`, 800, 560);
  await kiosk.getByRole("button", { name: /^Airport/ }).click();
  await kiosk.getByText(/card/i).first().waitFor();
  await picture(kiosk, "kiosk");
  await touched
    .getByText(/12[.,]00/)
    .first()
    .waitFor();
  await picture(touched, "terminal");
  await say("approve");
  await kiosk.getByText("Your payment is complete").waitFor();
  const console = await open(`http://localhost:${setup.console}/`, 1000, 600);
  await console.locator("input[autocomplete=username]").fill(OPERATOR_LOGIN);
  await console.locator("input[type=password]").fill(apiPassword(data, OPERATOR_LOGIN));
  await console.locator("form button[type=submit]").click();
  await console.locator(".banner").waitFor();
  await console.goto(`http://localhost:${setup.console}/#payments`);
  await console
    .getByText(/12\.00/)
    .first()
    .waitFor();
  await picture(console, "console");
} finally {
  await browser.close();
}

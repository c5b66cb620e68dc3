import { z } from "zod";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { terminalControl } from "../demo/settings.ts";
import type { CommandContext } from "../output.ts";
import { httpCall } from "../processes/network.ts";

const wordList = z.array(z.object({ word: z.string(), takes: z.string(), help: z.string() }));
const refusal = z.object({ error: z.string() });

/** The terminal does not wait for that. */
const NOT_NOW = 409;

/**
 * Gives one command to the demo's simulated terminal, which knows its commands itself (`GET /words`
 * of its control API); without a command it lists them. Throws {@link ProgramExit}.
 */
export async function simulate(
  { installation, output }: CommandContext,
  words: readonly string[],
): Promise<number> {
  const { dataDirectory } = installation;
  const [word, ...others] = words;
  if (word === undefined || word === "help") {
    const control = controlOf(dataDirectory);
    const known = wordList.parse((await call(`${control}/words`)).body);
    const lines = known.map(({ word: name, takes, help }) => [`${name} ${takes}`.trim(), help]);
    const width = Math.max(...lines.map(([left = ""]) => left.length));
    for (const [left = "", help] of lines) output.note(`${left.padEnd(width)}  ${help}`);
    output.text(`# The same with buttons, in a browser: ${control}/`);
    return exitCodes.ok;
  }
  await sayToTerminal(dataDirectory, { word, ...namedIn(others) });
  output.row("terminal", "good", word);
  return exitCodes.ok;
}

/** Throws {@link ProgramExit} when there is no terminal, or when it does not take the word. */
export async function sayToTerminal(
  dataDirectory: string,
  said: Readonly<Record<string, string>>,
): Promise<void> {
  const { status, body } = await call(`${controlOf(dataDirectory)}/words`, said);
  if (status === 200) return;
  const exitCode = status === NOT_NOW ? exitCodes.unavailable : exitCodes.usage;
  throw new ProgramExit(exitCode, refusal.parse(body).error);
}

function controlOf(dataDirectory: string): string {
  const control = terminalControl(dataDirectory);
  if (control === undefined) throw away("no simulated terminal runs here");
  return control;
}

/** `--name value` and at most one word without a name. */
function namedIn(words: readonly string[]): Readonly<Record<string, string>> {
  const named: Record<string, string> = {};
  for (let at = 0; at < words.length; at++) {
    const [word = "", next] = [words[at], words[at + 1]];
    const [, name, value] = /^--([a-z][a-z-]*)(?:=(.*))?$/.exec(word) ?? [];
    if (name === undefined && named["value"] === undefined) named["value"] = word;
    else if (name !== undefined && value !== undefined) named[name] = value;
    else if (name !== undefined && next !== undefined) named[name] = words[++at] as string;
    else throw new ProgramExit(exitCodes.usage, `${word} cannot be used here`);
  }
  return named;
}

async function call(url: string, body?: object): Promise<{ status: number; body: unknown }> {
  try {
    const { status, text } = await httpCall(url, {
      headers: { "content-type": "application/json" },
      ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
    });
    return { status, body: JSON.parse(text) };
  } catch {
    throw away(`${new URL(url).host} does not answer`);
  }
}

function away(why: string): ProgramExit {
  return new ProgramExit(exitCodes.unavailable, `${why}: start the demo with ./launch.sh --demo.`);
}

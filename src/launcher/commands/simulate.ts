import { z } from "zod";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { terminalControl } from "../demo/settings.ts";
import type { CommandContext } from "../output.ts";
import { httpCall } from "../processes/network.ts";

/** The list of commands that the simulated terminal knows; the member "word" holds the name. */
const commandList = z.array(z.record(z.string(), z.string()));
const refusal = z.object({ error: z.string() });

/** The HTTP status for a command that the simulated terminal cannot carry out now. */
const NOT_NOW = 409;

/**
 * Gives one command to the demo's simulated terminal; without a command, prints the commands that
 * the terminal knows (`GET /words` of its control API). Throws {@link ProgramExit}.
 */
export async function simulate(
  { dataDirectory, output }: CommandContext,
  [command, ...options]: readonly string[],
): Promise<number> {
  if (command === undefined || command === "help") {
    const control = controlOf(dataDirectory);
    const known = commandList.parse((await call(`${control}/words`)).body);
    const lines = known.map((one) => [`${one["word"]} ${one["takes"]}`.trim(), one["help"]]);
    const width = Math.max(...lines.map(([left = ""]) => left.length));
    for (const [left = "", help] of lines) output.note(`${left.padEnd(width)}  ${help}`);
    output.text(`# The same with buttons, in a browser: ${control}/`);
    return exitCodes.ok;
  }
  await sayToTerminal(dataDirectory, command, valuesIn(options));
  output.row("terminal", "good", command);
  return exitCodes.ok;
}

/** Gives the simulated terminal a command. Throws {@link ProgramExit} if that is not possible. */
export async function sayToTerminal(
  dataDirectory: string,
  command: string,
  values: ReadonlyMap<string, string> = new Map(),
): Promise<void> {
  const request = Object.fromEntries([["word", command], ...values]);
  const { status, body } = await call(`${controlOf(dataDirectory)}/words`, request);
  if (status === 200) return;
  const exitCode = status === NOT_NOW ? exitCodes.unavailable : exitCodes.usage;
  throw new ProgramExit(exitCode, refusal.parse(body).error);
}

function controlOf(dataDirectory: string): string {
  const control = terminalControl(dataDirectory);
  if (control === undefined) throw away("no simulated terminal runs here");
  return control;
}

/** Returns the values of arguments `--name value`; a single argument without a name is "value". */
function valuesIn(args: readonly string[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const [arg = "", next] = [args[at], args[at + 1]];
    const [, name, value] = /^--([a-z][a-z-]*)(?:=(.*))?$/.exec(arg) ?? [];
    if (name === undefined && !values.has("value")) values.set("value", arg);
    else if (name !== undefined && value !== undefined) values.set(name, value);
    else if (name !== undefined && next !== undefined) values.set(name, args[++at] as string);
    else throw new ProgramExit(exitCodes.usage, `${arg} cannot be used here`);
  }
  return values;
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

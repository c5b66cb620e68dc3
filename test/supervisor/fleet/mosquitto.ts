import { type ChildProcess, execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { freePort } from "../../support/programs/installation.ts";
import { runToEnd, startProcess } from "../../support/programs/own-processes.ts";

export const program = ["/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto"].find(existsSync) ?? "";

/** Where one is missing the tests are skipped, visibly. */
export const hasMosquitto =
  program !== "" && ["mosquitto_sub", "openssl"].every((name) => existsSync(`/usr/bin/${name}`));

/** Whether it was built with websockets. */
const hasWeb = hasMosquitto && readFileSync(program).includes("libwebsockets");

/** MQTT 3.1.1: a client without a name, for a minute. */
const CONNECT = Buffer.from("100c00044d5154540402003c0000", "hex");

/** A broker of Debian's mosquitto: a port for those who watch, and with TLS two for kiosks. */
export class Mosquitto {
  readonly folder = temporaryFolder();
  readonly port: number;
  readonly tlsPort: number;
  /** Of websockets; undefined: this mosquitto has none. */
  readonly webPort: number | undefined;
  #process: ChildProcess | undefined;

  private constructor(port: number, tlsPort: number, webPort: number | undefined) {
    [this.port, this.tlsPort, this.webPort] = [port, tlsPort, webPort];
    onTestFinished(() => this.down());
  }

  static async made(more: readonly string[] = []): Promise<Mosquitto> {
    const webPort = hasWeb ? await freePort() : undefined;
    const broker = new Mosquitto(await freePort(), await freePort(), webPort);
    const lines = ["persistence false", "listener PORT 127.0.0.1", "allow_anonymous true", ...more];
    const text = lines.join("\n").replace("PORT", String(broker.port));
    writeFileSync(join(broker.folder, "mosquitto.conf"), `${text}\n`);
    return broker;
  }

  /** With two more ports that want TLS, a client certificate and a password. */
  static async guarded(): Promise<Mosquitto> {
    const broker = await Mosquitto.made();
    const { folder, tlsPort, webPort } = broker;
    makeCertificates(folder);
    const at = (name: string): string => join(folder, name);
    writeFileSync(at("users"), "kiosk-7:secret of the kiosk\n", { mode: 0o600 });
    execFileSync("mosquitto_passwd", ["-U", at("users")]);
    writeFileSync(
      at("rules"),
      "pattern write connector/1/%u/#\npattern read connector/1/%u/request",
    );
    const text = readFileSync(at("mosquitto.conf"), "utf8");
    const tls = [
      `cafile ${at("ca.pem")}`,
      `certfile ${at("server.pem")}`,
      `keyfile ${at("server.key")}`,
      "require_certificate true",
      "allow_anonymous false",
      `password_file ${at("users")}`,
      `acl_file ${at("rules")}`,
    ];
    const lines = ["user root", "per_listener_settings true", text.trim()];
    lines.push(`listener ${tlsPort} 127.0.0.1`, ...tls);
    if (webPort) lines.push(`listener ${webPort} 127.0.0.1`, "protocol websockets", ...tls);
    writeFileSync(at("mosquitto.conf"), `${lines.join("\n")}\n`);
    return broker;
  }

  /** With the files that `./launch.sh fleet enrol` has made, on their port. */
  static async enrolled(folder: string): Promise<Mosquitto> {
    const broker = await Mosquitto.made();
    const lines = readFileSync(join(folder, "fleet.conf"), "utf8")
      .replaceAll("/etc/mosquitto/fleet", folder)
      .replace(/^listener \d+/, `listener ${broker.port} 127.0.0.1`);
    writeFileSync(broker.file("mosquitto.conf"), `user root\n${lines}`);
    return broker;
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`;
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  read(name: string): string {
    return readFileSync(this.file(name), "utf8");
  }

  async up(): Promise<void> {
    this.#process = startProcess(program, ["-c", this.file("mosquitto.conf")], { stdio: "ignore" });
    // It opens its ports one after the other, and reads certificates in between.
    for (const [, port] of this.read("mosquitto.conf").matchAll(/^listener (\d+)/gm)) {
      await expect.poll(() => canConnect(Number(port))).toBe(true);
    }
  }

  /** kill -9. */
  async down(): Promise<void> {
    const one = this.#process;
    this.#process = undefined;
    if (!one || one.exitCode !== null || one.signalCode !== null) return;
    one.kill("SIGKILL");
    await once(one, "exit");
  }

  /**
   * Until it has done what was there for it: it serves its clients one after the other, and then a
   * new one.
   */
  roundTrip(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.port, "127.0.0.1", () => socket.write(CONNECT));
      socket.once("data", () => socket.destroy());
      socket.once("error", reject);
      socket.once("close", () => resolve());
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** A client of others: `mosquitto_sub`, on all of a kiosk (`.../#`). */
  async watch(topic: string): Promise<Watched> {
    const args = ["-h", "127.0.0.1", "-p", String(this.port), "-V", "5", "-q", "1", "-t", topic];
    const client = startProcess("mosquitto_sub", [...args, "-F", "%t %p"], { stdio: "pipe" });
    onTestFinished(() => void client.kill("SIGKILL"));
    const watched = new Watched();
    client.stdout?.on("data", (chunk: Buffer) => watched.take(chunk.toString("utf8")));
    // The client does not report its subscription: it stands once a message of ours comes back.
    const probe = ["-p", String(this.port), "-t", topic.replace("#", "probe"), "-m", "{}"];
    await expect
      .poll(async () => {
        await runToEnd("mosquitto_pub", ["-h", "127.0.0.1", ...probe]);
        return watched.texts.length;
      })
      .toBeGreaterThan(0);
    return watched;
  }
}

/** What a subscriber has read. */
class Watched {
  readonly texts: { readonly name: string; readonly text: string; readonly atMs: number }[] = [];
  #rest = "";

  take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const [topic = "", ...parts] = line.split(" ");
      const name = topic.split("/").at(-1) ?? "";
      this.texts.push({ name, text: parts.join(" "), atMs: performance.now() });
    }
  }

  documents(name: string): Record<string, unknown>[] {
    return this.texts.filter((one) => one.name === name).map(({ text }) => JSON.parse(text));
  }

  /** Each change: what else changes in a state comes with the same connection. */
  get connections(): unknown[] {
    const all = this.documents("state").map(({ connection }) => connection);
    return all.filter((one, index) => one !== all[index - 1]);
  }
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

/** An authority, a server and a client of it, and a client of another one, by openssl. */
function makeCertificates(folder: string): void {
  const run = (line: string): unknown =>
    execFileSync("openssl", line.split(" "), { cwd: folder, stdio: "ignore" });
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  for (const ca of ["ca", "other"]) {
    run(`req -x509 ${key} -keyout ${ca}.key -out ${ca}.pem -days 2 -subj /CN=${ca}-authority`);
  }
  writeFileSync(join(folder, "san"), "subjectAltName=DNS:localhost,IP:127.0.0.1");
  for (const [name, ca] of [
    ["server", "ca"],
    ["client", "ca"],
    ["stranger", "other"],
  ]) {
    run(`req ${key} -keyout ${name}.key -out ${name}.csr -subj /CN=${name}`);
    const signed = `x509 -req -in ${name}.csr -CA ${ca}.pem -CAkey ${ca}.key -CAcreateserial`;
    run(`${signed} -out ${name}.pem -days 2 -extfile san`);
  }
}

import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, renameSync, rmSync, symlinkSync } from "node:fs";
import type { ReadStream } from "node:tty";
import type { BytePort, BytePortHandlers } from "./byte-port.ts";

/** A pseudo-terminal that cannot be had; the message says what to do. */
class PseudoTerminalError extends Error {
  override readonly name = "PseudoTerminalError";
}

/** The real result of the package's `open()`; its own types leave the two streams out. */
interface OpenPty {
  readonly ptsName: string;
  readonly master: ReadStream;
  readonly slave: ReadStream;
}

/**
 * A serial line without hardware: the register opens {@link PseudoTerminal.path} as its port. The
 * device stays while registers open and close it, as a real one does.
 */
export class PseudoTerminal implements BytePort {
  readonly name: string;
  readonly path: string;
  readonly #master: ReadStream;
  readonly #link: string | null;
  /** Held open: without any opener the kernel ends the master. Never read from. */
  readonly #slave: number;
  #closed = false;

  private constructor(pty: OpenPty, link: string | null) {
    this.path = pty.ptsName;
    this.name = `pty ${pty.ptsName}`;
    this.#master = pty.master;
    this.#link = link;
    this.#slave = openSync(this.path, constants.O_RDWR | constants.O_NOCTTY);
    // The package reads the register's end too, and would steal what is meant for the register.
    // Its own `destroy` must not be used: it sends a signal to process -1, which is everybody.
    pty.slave.destroy();
    setRaw(this.path);
    if (link) replaceLink(this.path, link);
  }

  /** Throws {@link PseudoTerminalError}. */
  static async open(link: string | null): Promise<PseudoTerminal> {
    const { open } = await loadPackage();
    const pty = open({ encoding: null }) as unknown as OpenPty;
    return new PseudoTerminal(pty, link);
  }

  start({ data, closed }: BytePortHandlers): void {
    this.#master.on("data", data);
    this.#master.once("error", () => this.close());
    this.#master.once("close", closed);
  }

  write(bytes: Uint8Array): void {
    if (this.#closed) return;
    // A ReadStream of a terminal can be written to as well; the types do not say so.
    (this.#master as unknown as { write(bytes: Uint8Array): void }).write(bytes);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#link) rmSync(this.#link, { force: true });
    this.#master.destroy();
    closeSync(this.#slave);
  }
}

async function loadPackage(): Promise<{ open(options: { encoding: null }): unknown }> {
  try {
    return (await import("@lydell/node-pty")) as unknown as {
      open(options: { encoding: null }): unknown;
    };
  } catch (error) {
    throw new PseudoTerminalError(
      "--pty needs the optional package @lydell/node-pty: run npm ci with optional packages " +
        "(Linux and macOS only), or use --tcp or --serial",
      { cause: error },
    );
  }
}

/** No line editing, no echo, no translation of line ends: bytes pass as they are. */
function setRaw(path: string): void {
  const device = process.platform === "darwin" ? "-f" : "-F";
  try {
    execFileSync("stty", [device, path, "raw", "-echo"], { stdio: "pipe" });
  } catch (error) {
    throw new PseudoTerminalError(`cannot set ${path} raw: the program stty is needed`, {
      cause: error,
    });
  }
}

/** Points the link at the new device in one step, so that it never points to nothing. */
function replaceLink(path: string, link: string): void {
  const fresh = `${link}.new`;
  try {
    rmSync(fresh, { force: true });
    symlinkSync(path, fresh);
    renameSync(fresh, link);
  } catch (error) {
    throw new PseudoTerminalError(`cannot make the link ${link}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

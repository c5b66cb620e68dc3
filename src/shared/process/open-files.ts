import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readOr } from "../read-or.ts";

/** A process that uses a device or a port. */
export interface Holder {
  readonly pid: number;
  /** The name of the program without its arguments, which may hold secrets. */
  readonly command: string;
}

/**
 * Returns the processes of Linux that have one of these files or sockets open: those of this user,
 * or for root of all users. Files of /proc disappear when their process ends.
 */
export function holdersOf(targets: readonly string[]) {
  return namesIn("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const folder = `/proc/${name}/fd`;
    const open = namesIn(folder).map((fd) => {
      return { fd, target: readOr("", () => readlinkSync(`${folder}/${fd}`)) };
    });
    if (!open.some(({ target }) => targets.includes(target))) return [];
    return [{ pid: Number(name), command: commandOf(`/proc/${name}`), open }];
  });
}

const namesIn = (folder: string): string[] => readOr([], () => readdirSync(folder));

/** Returns the name of a process; "node" for Node.js 24, which calls itself "MainThread". */
function commandOf(folder: string): string {
  const command = readOr("", () => readFileSync(`${folder}/comm`, "utf8").trim());
  return command === "MainThread" ? "node" : command;
}

/** Returns the process that listens on a port of the loopback addresses; undefined: not found. */
export function listenerOnLinux(port: number): Holder | undefined {
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((file) =>
    readOr("", () => readFileSync(file, "utf8")),
  );
  const sockets = inodesOf(tables.join("\n"), port).map((inode) => `socket:[${inode}]`);
  return sockets.length === 0 ? undefined : holdersOf(sockets)[0];
}

/** Returns who listens on a port, as a part of a message; undefined: not found. */
export function holderText(port: number): string | undefined {
  const holder = listenerOnLinux(port);
  return holder && `process ${holder.pid} (${holder.command}) has it`;
}

/** The state LISTEN in /proc/net/tcp (proc_net_tcp(5)). */
const LISTEN = "0A";
/** The addresses 127.0.0.1, 0.0.0.0, ::1 and :: as /proc/net/tcp writes them. */
const loopback = /^(0100007F|0{8}|0{24}01000000|0{32}):/;

/** Returns the inodes of the sockets that listen on a port, from the text of /proc/net/tcp. */
export function inodesOf(table: string, port: number): string[] {
  const digits = port.toString(16).toUpperCase().padStart(4, "0");
  return table.split("\n").flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    return state === LISTEN && local.endsWith(`:${digits}`) && loopback.test(local) ? [inode] : [];
  });
}

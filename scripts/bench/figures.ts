/** What the benches measure of processes, and make of many measurements. */
import { readFileSync } from "node:fs";

/** The unit of processor time in Linux: a hundredth of a second (sysconf _SC_CLK_TCK). */
const TICK_MS = 10;
const KB_PER_MB = 1_024;

/** Returns user and system time of all threads of a process, in milliseconds (Linux). */
export function cpuMsOf(pid: number): number {
  const [, rest = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const fields = rest.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Returns a field of a process's memory, in megabytes (Linux, proc_pid_status(5)). */
export function memoryMbOf(pid: number, field = "VmRSS"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / KB_PER_MB;
}

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5);
}

export function quantile(numbers: readonly number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

import { describe } from "vitest";
import { python } from "./programs.ts";
import { terminalCases } from "./terminal-python-cases.ts";

const possible = python && process.platform === "linux";

describe.skipIf(!possible)("tp-manager and a terminal in Python on a pty", () =>
  terminalCases("pty"),
);

import type { Connector } from "./connector.ts";
import type { Device } from "./device.ts";
import type { Spelling } from "./entry-reports.ts";
import type { Add, Scope } from "./scope.ts";
import { struck, type World } from "./world.ts";

/** What may go wrong at any place: the line, the process, the terminal's locks and storage. */
export function faults(world: World, scope: Scope, connector: Connector, add: Add): void {
  const { left, ram, line, kiosk, device } = world;
  const isUsed = ram.run !== null || line.message !== null;
  if (left.losses > 0 && isUsed) {
    add("fault", "the line breaks", (next) => {
      next.left.losses -= 1;
      breakLine(next);
      connector.end(next, "lost");
      return undefined;
    });
  }
  if (left.crashes > 0 && (isUsed || ram.inquiries.length > 0 || kiosk.request)) {
    for (const loses of connector.hasUnwritten(world) ? [false, true] : [false]) {
      const what = loses ? "before it wrote that its ACK arrived" : "and starts again";
      add("fault", `the connector crashes ${what}`, (next) => {
        next.left.crashes -= 1;
        breakLine(next);
        connector.crash(next, loses);
        return undefined;
      });
    }
  }
  if (device.process.at !== "idle" || line.message) return;
  if (left.locks > 0 && device.lock === null) {
    for (const lock of ["initialisation", "end of day"] as const) {
      add("fault", `the terminal is locked (${lock})`, (next) => {
        next.left.locks -= 1;
        next.device.lock = lock;
        struck(next, lock);
        return undefined;
      });
    }
  }
  storageQuirks(world, scope, add);
}

/** The terminal is alone with what it was doing; its answers and ours are lost. */
function breakLine({ device, line }: World): void {
  line.message = null;
  device.process = alone(device);
}

function alone({ process }: Device): Device["process"] {
  switch (process.at) {
    case "paying":
      return { ...process, alone: true };
    case "reported":
      return { at: "unanswered", entry: process.entry };
    case "refused":
      return { ...process, late: true };
    case "accepted":
    case "ending":
      return { at: "idle" };
    default:
      return process;
  }
}

function storageQuirks(world: World, scope: Scope, add: Add): void {
  if (world.left.quirks === 0) return;
  const strikes: Record<string, (device: Device) => void> = {
    "empties its storage": empty,
    "empties its storage and restarts its numbers": (device) => {
      empty(device);
      device.nextReceipt = 1;
      device.nextTrace = 1;
    },
    "repeats an older receipt": (device) => {
      device.stale = true;
    },
    "is swapped for a moment": (device) => {
      device.swapped = true;
    },
  };
  for (const name of scope.quirks) {
    const strike = name.startsWith("spells ")
      ? (device: Device) => {
          device.spelling = name.slice("spells ".length) as Spelling;
        }
      : strikes[name];
    if (!strike) continue;
    add("fault", `the terminal ${name}`, (next) => {
      next.left.quirks -= 1;
      struck(next, name);
      strike(next.device);
      return undefined;
    });
  }
}

function empty(device: Device): void {
  device.stored = null;
  device.before = null;
}

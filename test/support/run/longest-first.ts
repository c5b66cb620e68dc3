import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take long, the longest first. One that computes, as browsers and simulations do, is
 * next to one that waits, for a real program's or a protocol's timers: both go on together.
 */
export const long = [
  "test/launcher/update",
  "test/delivery/",
  "test/independent/terminal-python-pty",
  "test/browser/pages",
  "test/browser/consoles",
  "test/browser/foreign-pages",
  "test/scenario/terminal-faults",
  "test/independent/terminal-python-tcp",
  "test/simulation/simulation.test",
  "test/launcher/launch.test",
  "test/scenario/one-way-faults",
  "test/supervisor/hostile",
  "test/launcher/keep-alive.test",
  "test/crash/",
  "test/launcher/demo",
  "test/launcher/handbooks",
  "test/scenario/",
  "test/browser/",
  "test/simulator/gateway/http/hostile",
  "test/independent/",
  "test/launcher/",
  "test/tp-manager/http/fuzz.test",
  "test/tp-manager/http/flood",
  "test/scripts/",
  "test/client/",
  "test/tp-manager/terminal/one-way/simulated",
  "test/tp-manager/terminal/contract",
  "test/supervisor/fleet/mosquitto",
  "test/supervisor/supervisor.test",
  "test/simulator/terminal/concert/faults",
  "test/simulator/terminal/zvt/faults/faults",
  "test/shared/program/lifecycle",
  "test/update/path-cuts",
  "test/update/switch-cuts",
  "test/tp-manager/terminal/zvt/goods",
  "test/supervisor/fleet/threaded",
  "test/tp-manager/http/answers",
];

/**
 * A new clone has no times of an earlier run, and vitest would begin with the largest files: one
 * that is short and takes a minute would be begun when all others have ended.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = long.findIndex((part) => moduleId.includes(part));
      return found < 0 ? long.length : found;
    };
    // A worker is kept for the next file only where both share workers.
    const shares = ({ project }: TestSpecification): number => (project.config.isolate ? 0 : 1);
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b) || shares(a) - shares(b));
  }
}

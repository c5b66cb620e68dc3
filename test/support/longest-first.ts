import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take long, as real programs, browsers, protocol timers and ten thousand tries do. */
const long = [
  "test/crash/",
  "test/scenario/terminal-faults",
  "test/simulation/simulation.test",
  "test/independent/terminal-python",
  "test/simulator/gateway/http/hostile",
  "test/supervisor/hostile",
  "test/scenario/unasked",
  "test/simulator/terminal/concert/faults",
  "test/tp-manager/terminal/unasked/simulated",
  "test/delivery/",
  "test/supervisor/supervisor.test",
  "test/launcher/",
  "test/scenario/",
  "test/browser/",
  "test/tp-manager/http/fuzz.test",
  "test/tp-manager/http/flood",
  "test/client/",
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
    return (await super.sort(files)).toSorted((a, b) => shares(a) - shares(b) || rank(a) - rank(b));
  }
}

import { InspectedHeap, inspectSwitches } from "../../support/heap/inspected-heap.ts";
import { Random } from "../../support/inputs/random.ts";
import { TestInstallation } from "../../support/programs/installation.ts";
import { type FuzzResult, fuzz } from "./fuzz.ts";

interface FuzzRun extends FuzzResult {
  /** Bytes in use by tp-manager after a collection, at each mark, in their order. */
  readonly usedBytes: readonly number[];
  /** What the terminal's bank booked, in minor units. */
  readonly chargedMinor: number;
}

interface FuzzPlan {
  readonly seed: number;
  /** After how many attacks the heap is measured; the last one ends the run. */
  readonly marks: readonly number[];
  readonly onMark?: (mark: number, usedBytes: number) => void;
}

const OPERATOR = { login: "operator", password: "test-operator-password" };

/**
 * Attacks a real tp-manager with a simulated terminal and gateway. It is a process of its own, so
 * that what grows in its heap is its own, and nothing that the tests keep.
 */
export async function fuzzRun({ seed, marks, onMark }: FuzzPlan): Promise<FuzzRun> {
  const at = new TestInstallation({
    terminalSwitches: ["--instant"],
    simulatorPrograms: true,
    nodeSwitches: inspectSwitches,
    config: { OPERATOR_LOGIN: OPERATOR.login, OPERATOR_PWD: OPERATOR.password },
  });
  try {
    await at.start();
    await at.connected();
    const { tpManager } = at;
    if (!tpManager) throw new Error("tp-manager was not started");
    const heap = await InspectedHeap.of(tpManager);
    const target = {
      port: at.port,
      kiosk: basic("kiosk", at.password),
      operator: basic(OPERATOR.login, OPERATOR.password),
    };
    const random = new Random(seed);
    const result: FuzzResult = { statuses: new Map(), problems: [] };
    const usedBytes: number[] = [];
    let sent = 0;
    for (const mark of marks) {
      await fuzz(target, mark - sent, random, result);
      sent = mark;
      const used = await heap.usedBytes();
      usedBytes.push(used);
      onMark?.(mark, used);
    }
    heap.close();
    if (!tpManager.running) result.problems.push(`tp-manager ended: ${tpManager.output}`);
    const { http } = await at.call("GET", "/health");
    if (http !== 200) result.problems.push(`afterwards /health answers ${http}`);
    return { ...result, usedBytes, chargedMinor: (await at.ledger()).charged };
  } finally {
    await at.stop();
  }
}

function basic(login: string, password: string): string {
  return `Basic ${btoa(`${login}:${password}`)}`;
}

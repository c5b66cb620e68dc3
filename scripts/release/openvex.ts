import { nameOf } from "./lock.ts";
import { type Delivered, packagePurl, productPurl, urnOf } from "./parts-list.ts";
import vulnerabilities from "./vulnerabilities.json" with { type: "json" };

/* What is known about vulnerabilities of the parts: OpenVEX 0.2.0 (docs/supply-chain.md). */

interface Known {
  /** Its CVE. */
  readonly id: string;
  readonly package: string;
  /** The first version of the package without it. */
  readonly fixedIn?: string;
  /** The only version of the package that had it, and what OpenVEX calls this reason. */
  readonly onlyIn?: string;
  readonly justification?: string;
}

/**
 * Returns the statements as JSON. OpenVEX allows no document without a statement. Throws when a
 * statement is not true of this version: its package is not delivered, or is older than the fix.
 */
export function openVex({ version, dateMs, contact, packages, lock }: Delivered): string {
  const statements = (vulnerabilities as readonly Known[]).map((known) => {
    const paths = packages.filter((path) => nameOf(path) === known.package);
    const old = paths.find((path) => {
      const delivered = lock[path]?.version;
      return delivered === known.onlyIn || isBelow(delivered, known.fixedIn);
    });
    if (paths.length === 0 || old !== undefined) {
      throw new Error(`${known.id}: ${old ?? `${known.package} is in no delivery`}`);
    }
    const { justification } = known;
    const reason =
      known.fixedIn === undefined
        ? { status: "not_affected", status_notes: `Only ${known.onlyIn} has it.`, justification }
        : { status: "fixed", status_notes: `Fixed in ${known.package} ${known.fixedIn}.` };
    const subcomponents = [...new Set(paths.map((path) => packagePurl(path, lock)))];
    return {
      vulnerability: { name: known.id },
      products: [
        {
          "@id": productPurl(version),
          subcomponents: subcomponents.map((purl) => ({ "@id": purl })),
        },
      ],
      ...reason,
    };
  });
  const content = {
    author: contact,
    role: "publisher",
    timestamp: new Date(dateMs).toISOString(),
    version: 1,
    statements,
  };
  const context = { "@context": "https://openvex.dev/ns/v0.2.0", "@id": urnOf(content) };
  return `${JSON.stringify({ ...context, ...content }, null, 2)}\n`;
}

/** Whether a version of a package, without a suffix, is lower than another one. */
function isBelow(version = "", other = ""): boolean {
  const numbers = (text: string): number[] => text.split(".").map(Number);
  const [ours, fixed] = [numbers(version), numbers(other)];
  const at = fixed.findIndex((number, index) => number !== ours[index]);
  return at >= 0 && (ours[at] ?? 0) < (fixed[at] ?? 0);
}

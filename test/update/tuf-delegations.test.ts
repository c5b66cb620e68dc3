import { expect, test } from "vitest";
import { inDays, TestRepository } from "./test-repository.ts";
import { kioskAt } from "./tuf-kiosk.ts";

type Delegation = readonly [by: string, role: string, paths?: string[], terminating?: boolean];

const graphs: [string, Delegation[], string[]][] = [
  ["one", [["targets", "A"]], ["A"]],
  [
    "two side by side",
    [
      ["targets", "A"],
      ["targets", "B"],
    ],
    ["A", "B"],
  ],
  [
    "depth before breadth",
    [
      ["targets", "A"],
      ["targets", "B"],
      ["A", "C"],
      ["A", "D"],
    ],
    ["A", "C", "D", "B"],
  ],
  [
    "a terminating one ends the search",
    [
      ["targets", "A"],
      ["targets", "B"],
      ["A", "C", ["*"], true],
      ["A", "D"],
    ],
    ["A", "C"],
  ],
  [
    "below a terminating one the search goes on",
    [
      ["targets", "A"],
      ["targets", "B"],
      ["A", "C", ["*"], true],
      ["C", "D"],
    ],
    ["A", "C", "D"],
  ],
  [
    "other paths are left out",
    [
      ["targets", "A", ["*.py"]],
      ["targets", "B"],
      ["A", "C"],
    ],
    ["B"],
  ],
  [
    "a circle ends",
    [
      ["targets", "A"],
      ["targets", "B"],
      ["B", "C"],
      ["C", "D"],
      ["D", "B"],
    ],
    ["A", "B", "C", "D"],
  ],
  [
    "a role of two delegators is asked once",
    [
      ["targets", "A"],
      ["targets", "B"],
      ["B", "C"],
      ["A", "C"],
    ],
    ["A", "C", "B"],
  ],
];

async function delegated(delegations: readonly Delegation[]) {
  const repository = new TestRepository();
  for (const [by, role, paths, terminating] of delegations) {
    repository.delegate(by, role, paths, terminating);
  }
  const roles = new Set(delegations.map(([, role]) => role));
  repository.publish(...roles, "targets", "snapshot", "timestamp");
  return { repository, kiosk: await kioskAt(repository) };
}

test.each(graphs)("delegations: %s", async (_, delegations, order) => {
  const { repository, kiosk } = await delegated(delegations);
  expect(await kiosk.download("missing")).toContain("no-target: ");
  expect(repository.asked.slice(4)).toEqual(order.map((role) => `${role} 1`));
});

test("a target is found where its path leads, and nowhere else", async () => {
  const { repository, kiosk } = await delegated([
    ["targets", "A", ["*.doc", "*.md"]],
    ["targets", "B", ["releases/*/*"]],
    ["B", "C", ["releases/x/*"]],
    ["B", "D", ["releases/y/*.zip"]],
  ]);
  repository.addTarget("README.md", Buffer.from("by A"), "A");
  repository.addTarget("releases/x/x_v1", Buffer.from("by C"), "C");
  repository.addTarget("releases/y/y_v1.zip", Buffer.from("by D"), "D");
  repository.addTarget("releases/z/z_v1.zip", Buffer.from("by D"), "D");
  repository.publish("A", "B", "C", "D", "snapshot", "timestamp");
  expect(await kiosk.download("README.md")).toBeUndefined();
  expect(await kiosk.download("releases/x/x_v1")).toBeUndefined();
  expect(await kiosk.download("releases/y/y_v1.zip")).toBeUndefined();
  expect(await kiosk.download("releases/z/z_v1.zip")).toContain("no-target: ");
  expect(Object.values(kiosk.downloaded()).toSorted()).toEqual(["by A", "by C", "by D"]);
});

test.each(["?", "#", "/role", "../role", "a b%"])(
  "a role named %s stays in its folder",
  async (name) => {
    const { repository, kiosk } = await delegated([["targets", name]]);
    expect(await kiosk.download("missing")).toContain("no-target: ");
    expect(repository.asked).toContain(`${encodeURIComponent(name)} 1`);
    expect(kiosk.trusted().split(", ")).toHaveLength(5);
  },
);

test("a delegated role that has expired gives nothing, until a newer one is there", async () => {
  const { repository, kiosk } = await delegated([["targets", "A"]]);
  repository.addTarget("first", Buffer.from("1"), "A");
  repository.addTarget("second", Buffer.from("2"), "A");
  repository.signed["A"].expires = inDays(7);
  repository.publish("A", "targets", "snapshot", "timestamp");
  expect(await kiosk.download("first")).toBeUndefined();
  kiosk.daysAhead = 18;
  expect(await kiosk.download("second")).toContain("metadata-expired: ");
  expect(kiosk.downloaded()).toEqual({ first: "1" });
  repository.signed["A"].expires = inDays(21);
  repository.publish("A", "snapshot", "timestamp");
  expect(await kiosk.download("second")).toBeUndefined();
});

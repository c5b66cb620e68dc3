import { expect, test } from "vitest";
import { newId } from "../../src/shared/new-id.ts";
import { systemClock } from "../../src/shared/time.ts";

test("an id that the masking would change is not given", () => {
  const made = [
    "09536568-7935-4812-8959-f71ccd535a06",
    "39446694-3050-4276-bc0b-1c2172823131",
    "a-good-one",
  ];
  expect(newId(() => made.shift() as string)).toBe("a-good-one");
});

test("ids are UUIDs that lie in the order of time", () => {
  const beforeMs = systemClock.now();
  const ids = Array.from({ length: 200 }, () => newId());
  const afterMs = systemClock.now();
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const ms = Number.parseInt(id.slice(0, 13).replace("-", ""), 16);
    expect(ms).toBeGreaterThanOrEqual(beforeMs);
    expect(ms).toBeLessThanOrEqual(afterMs);
  }
});

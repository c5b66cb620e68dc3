import { expect, test } from "vitest";
import { newId } from "../../src/shared/new-id.ts";

test("an id that the masking would change is not given", () => {
  const made = [
    "09536568-7935-4812-8959-f71ccd535a06",
    "39446694-3050-4276-bc0b-1c2172823131",
    "a-good-one",
  ];
  expect(newId(() => made.shift() as string)).toBe("a-good-one");
  expect(newId()).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
});

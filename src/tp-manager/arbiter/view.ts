/**
 * An object of its own with only these members of another one, so that no cast leads from it to the
 * rest (docs/architecture.md 2.2).
 */
export function viewOf<Whole extends object, Name extends keyof Whole>(
  whole: Whole,
  ...names: readonly Name[]
): Readonly<Pick<Whole, Name>> {
  const view = {};
  for (const name of names) {
    const get = (): unknown => {
      const member = whole[name];
      return typeof member === "function" ? member.bind(whole) : member;
    };
    Object.defineProperty(view, name, { enumerable: true, get });
  }
  return Object.freeze(view) as Pick<Whole, Name>;
}

/** The types of what the pages use of `htm/preact/standalone.module.js`. */
export type Child = unknown;
export function html(strings: TemplateStringsArray, ...values: unknown[]): Child;
export function render(tree: Child, parent: Element): void;
export function useState<T>(first: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
// biome-ignore lint/suspicious/noConfusingVoidType: an effect may answer how to end it
export function useEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
/** Runs the effect as soon as the page is changed, before the person sees it or a key comes. */
export const useLayoutEffect: typeof useEffect;
export function useRef<T>(first: T): { current: T };
export function useMemo<T>(make: () => T, inputs: readonly unknown[]): T;

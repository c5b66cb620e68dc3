import { moreTexts } from "../texts.js";
import { useEffect, useState } from "../vendor/htm-preact.js";

/**
 * The page's texts with those of one more catalogue, as soon as that is read.
 * @param {import("../texts.js").Texts} texts
 * @param {string | null} name null: there is no such catalogue
 */
export function useMoreTexts(texts, name) {
  const [more, setMore] = useState(() => texts);
  useEffect(() => {
    let isWanted = true;
    const read = name === null ? Promise.resolve(texts) : moreTexts(texts, name);
    void read.then((next) => isWanted && setMore(() => next));
    return () => {
      isWanted = false;
    };
  }, [texts]);
  return more;
}

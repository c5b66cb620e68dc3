import { useEffect, useState } from "../vendor/htm-preact.js";
import { moreWords } from "../words.js";

/**
 * The page's words with those of one more file, as soon as that is read.
 * @param {import("../words.js").Words} words
 * @param {string} language
 * @param {string | null} name null: there is no such file
 */
export function useMoreWords(words, language, name) {
  const [more, setMore] = useState(() => words);
  useEffect(() => {
    let isWanted = true;
    const read = name === null ? Promise.resolve(words) : moreWords(words, language, name);
    void read.then((next) => isWanted && setMore(() => next));
    return () => {
      isWanted = false;
    };
  }, [words]);
  return more;
}

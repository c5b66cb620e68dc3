const KEY_LETTERS = 32;
const FIRST_LETTER = "a".charCodeAt(0);

/**
 * The key of an operation at the gateway, made when its question opens. A second click, or a
 * repetition after a lost answer, has the same key and so is no second operation.
 * @param {string} path
 * @param {object} body
 */
export function keyOf(path, body) {
  const place = placeOf(path, body);
  const kept = sessionStorage.getItem(place);
  if (kept) return kept;
  // Letters only: a row of digits can look like a card number.
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_LETTERS));
  const made = Array.from(bytes, (byte) => String.fromCharCode(FIRST_LETTER + (byte % 16))).join(
    "",
  );
  sessionStorage.setItem(place, made);
  return made;
}

/**
 * The next operation has a key of its own when the end of this one was told. The connector lets no
 * other one follow while the end is unknown at the gateway (504).
 * @param {string} path
 * @param {object} body
 * @param {number} status of the answer
 */
export function forgetKey(path, body, status) {
  if (status < 500 || status === 504) sessionStorage.removeItem(placeOf(path, body));
}

/**
 * @param {string} path
 * @param {object} body
 */
function placeOf(path, body) {
  return `key of ${path} ${JSON.stringify(body)}`;
}

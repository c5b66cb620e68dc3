const KEY_LETTERS = 32;
const FIRST_LETTER = "a".charCodeAt(0);

/**
 * Returns the key of an operation at the gateway, made when the dialogue opens. A second click,
 * or a repetition after a lost answer, has the same key and so starts no second operation.
 * @param {string} path
 * @param {object} body
 */
export function keyOf(path, body) {
  const slot = slotOf(path, body);
  const kept = sessionStorage.getItem(slot);
  if (kept) return kept;
  // Letters only: a row of digits can look like a card number.
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_LETTERS));
  const made = Array.from(bytes, (byte) => String.fromCharCode(FIRST_LETTER + (byte % 16))).join(
    "",
  );
  sessionStorage.setItem(slot, made);
  return made;
}

/**
 * Removes the key of an operation whose outcome is known, so that the next operation gets a new
 * one: it was done (200), or the connector knew the key and refused (409). A key whose outcome is
 * open (504, or 409 while an operation is open) is kept, so that a further press asks for the
 * outcome. Other refusals, such as a session that is over, say nothing of an earlier call with the
 * key, whose answer may have been lost.
 * @param {string} path
 * @param {object} body
 * @param {Pick<import("../api.js").Answer, "status" | "body">} answer
 */
export function forgetKey(path, body, { status, body: answer }) {
  const isKnown = [200, 409].includes(status) && answer?.error?.code !== "GATEWAY_OPERATION_OPEN";
  if (isKnown) sessionStorage.removeItem(slotOf(path, body));
}

/**
 * @param {string} path
 * @param {object} body
 */
function slotOf(path, body) {
  return `key of ${path} ${JSON.stringify(body)}`;
}

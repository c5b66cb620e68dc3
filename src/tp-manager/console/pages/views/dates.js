/** Computes with days of the browser's clock, which is the kiosk's: they are one machine. */

/** @param {Date} at */
export function dateOf(at) {
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/**
 * @param {string} date
 * @param {number} days
 */
export function daysBefore(date, days) {
  return dateOf(shifted(date, -days));
}

/** @param {string} date */
export function dayBegin(date) {
  return shifted(date, 0).toISOString();
}

/** @param {string} date */
export function dayEnd(date) {
  return shifted(date, 1).toISOString();
}

/**
 * @param {string} date
 * @param {string} time hh:mm
 */
export function minuteBegin(date, time) {
  return minute(date, time, 0);
}

/**
 * The minute itself belongs to the range.
 * @param {string} date
 * @param {string} time hh:mm
 */
export function minuteEnd(date, time) {
  return minute(date, time, 1);
}

/**
 * @param {string} date
 * @param {string} time
 * @param {number} later
 */
function minute(date, time, later) {
  const at = shifted(date, 0);
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  at.setHours(hours, minutes + later);
  return at.toISOString();
}

/**
 * @param {string} date
 * @param {number} days
 */
function shifted(date, days) {
  const [year = 0, month = 1, day = 1] = date.split("-").map(Number);
  return new Date(year, month - 1, day + days);
}

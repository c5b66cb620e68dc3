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

/**
 * @param {string} date
 * @param {string} [time] hh:mm
 */
export function dayBegin(date, time = "") {
  return minute(date, time, 0);
}

/**
 * The named minute itself belongs to the range.
 * @param {string} date
 * @param {string} [time] hh:mm; without it the range ends with the day
 */
export function dayEnd(date, time = "") {
  return time ? minute(date, time, 1) : shifted(date, 1).toISOString();
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

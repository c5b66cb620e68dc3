import { useEffect, useRef, useState } from "./vendor/htm-preact.js";

/** The pause after a reading: several events within it lead to one more reading. */
const SETTLE_MS = 200;
/** The pause before a stream of events that has ended is opened again. */
const REOPEN_MS = 2_000;
/** The interval of readings without an event: disk and queue of the gateway change without one. */
const POLL_MS = 15_000;

/**
 * Reads at each event of the connector and every `POLL_MS`; an older answer never replaces a newer
 * one. While the connector does not answer, `silent` is true and `value` stays the last answer.
 * @template T
 * @param {import("./api.js").Api} api
 * @param {() => Promise<T>} read
 * @returns {{ value: T | undefined, silent: boolean, again: () => void }}
 */
export function useLive(api, read) {
  const [value, setValue] = useState(/** @type {T | undefined} */ (undefined));
  const [silent, setSilent] = useState(false);
  const newest = useRef(read);
  newest.current = read;
  const trigger = useRef(() => {});
  useEffect(() => {
    const end = new AbortController();
    let due = false;
    let reading = false;
    const refresh = async () => {
      due = true;
      if (reading) return;
      reading = true;
      while (due && !end.signal.aborted) {
        due = false;
        try {
          const found = await newest.current();
          if (!end.signal.aborted) setValue(() => found);
          setSilent(false);
        } catch {
          setSilent(true);
        }
        await pause(SETTLE_MS);
      }
      reading = false;
    };
    trigger.current = () => void refresh();
    void refresh();
    const poll = setInterval(refresh, POLL_MS);
    void listen(api, end.signal, trigger.current);
    return () => {
      end.abort();
      clearInterval(poll);
    };
  }, []);
  return { value, silent, again: () => trigger.current() };
}

/** Aborted when the page goes into the background; a new one is made when it comes back. */
let front = new AbortController();
document.addEventListener("visibilitychange", () => {
  if (document.hidden) front.abort();
  else front = new AbortController();
});

/**
 * Reads the stream of events, and opens it again when it ends, until the session is over. A page in
 * the background has no stream: a stream keeps one of the six connections that a browser has to one
 * port for all its pages.
 * @param {import("./api.js").Api} api
 * @param {AbortSignal} signal
 * @param {() => void} changed called at each event, and when the stream opens or ends
 */
async function listen(api, signal, changed) {
  let lastId = "";
  while (!signal.aborted && api.hasToken) {
    if (document.hidden) {
      await pause(REOPEN_MS);
      continue;
    }
    const ended = AbortSignal.any([signal, front.signal]);
    try {
      for await (const event of api.events(lastId, ended, changed)) {
        lastId = event.id || lastId;
        changed();
      }
    } catch {
      // The readings find out whether the connector still answers.
    }
    if (!signal.aborted) changed();
    await pause(REOPEN_MS);
  }
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

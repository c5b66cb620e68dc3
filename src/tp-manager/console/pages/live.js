import { useEffect, useRef, useState } from "./vendor/htm-preact.js";

/** Many events in a row lead to one reading. */
const SETTLE_MS = 200;
const REOPEN_MS = 2_000;
/** Disk and queue of the gateway, of which no event tells, are read so often. */
const POLL_MS = 15_000;

/**
 * Reads again whenever something happens, and from time to time; an older answer never replaces a
 * newer one. `value` stays what it was while nothing answers, and `silent` says so.
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

/** Aborted while the page is behind others. */
let front = new AbortController();
document.addEventListener("visibilitychange", () => {
  if (document.hidden) front.abort();
  else front = new AbortController();
});

/**
 * Opened anew by ourselves, until the page has no session any more. Only in front: a browser has six
 * connections to one port for all its pages, and a stream keeps one of them.
 * @param {import("./api.js").Api} api
 * @param {AbortSignal} signal
 * @param {() => void} tell at each event, and when it was opened
 */
async function listen(api, signal, tell) {
  let lastId = "";
  while (!signal.aborted && api.hasToken) {
    if (document.hidden) {
      await pause(REOPEN_MS);
      continue;
    }
    const ended = AbortSignal.any([signal, front.signal]);
    try {
      for await (const event of api.events(lastId, ended, tell)) {
        lastId = event.id || lastId;
        tell();
      }
    } catch {
      // The next try tells whether somebody answers.
    }
    if (!signal.aborted) tell();
    await pause(REOPEN_MS);
  }
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

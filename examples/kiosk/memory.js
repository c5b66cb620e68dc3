/*
 * What the page keeps over a reload and a power cut. Not in localStorage, which a browser writes to
 * the disk seconds later: a strict transaction is on the disk when it has ended.
 */

const NAME = "kiosk";

/** @type {Promise<IDBDatabase>} */
const opening = new Promise((resolve, reject) => {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(NAME);
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
// A page that keeps nothing notices at its first read.
opening.catch(() => undefined);

/**
 * Returns what is kept under a name; undefined: nothing.
 * @param {string} name
 * @returns {Promise<any>}
 */
export async function read(name) {
  const request = (await opening).transaction(NAME).objectStore(NAME).get(name);
  return await new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * Resolves when the value is on the disk; undefined: nothing is kept under this name any more.
 * @param {string} name
 * @param {unknown} value
 */
export async function write(name, value) {
  const options = /** @type {const} */ ({ durability: "strict" });
  const transaction = (await opening).transaction(NAME, "readwrite", options);
  const store = transaction.objectStore(NAME);
  if (value === undefined) store.delete(name);
  else store.put(value, name);
  await new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
}

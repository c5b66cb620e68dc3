/** Returns the value of `read`, or `otherwise` if `read` throws, for whatever reason. */
export function readOr<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

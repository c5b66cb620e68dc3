import { userInfo } from "node:os";

/** Whose processes these are. A container may run under a number that has no name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? "unknown"}`;
  }
}

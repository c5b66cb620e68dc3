import { randomBytes } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { proxyChoice } from "../../src/shared/config/proxy.ts";
import { systemClock } from "../../src/shared/time.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { selfSignedTls } from "../../src/simulator/gateway/http/self-signed.ts";
import { readWebFile, type WebSettings } from "../../src/update/web-source.ts";
import { selfSigned } from "../supervisor/gateway/self-signed.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { testProxy } from "../support/programs/test-proxy.ts";
import { TestRepository } from "./test-repository.ts";
import { kioskAt, ways } from "./tuf-kiosk.ts";

const content = randomBytes(300_000);

async function kioskWithTarget(bytes = content, way: (typeof ways)[number] = "a server") {
  const repository = new TestRepository();
  repository.addTarget("programs/1.tar.gz", bytes);
  repository.publish("targets", "snapshot", "timestamp");
  return { repository, kiosk: await kioskAt(repository, way) };
}

describe("a target", () => {
  test("that is there and whole is not asked for again", async () => {
    const { repository, kiosk } = await kioskWithTarget();
    expect(await kiosk.download("programs/1.tar.gz")).toBeUndefined();
    expect(await kiosk.download("programs/1.tar.gz")).toBeUndefined();
    expect(repository.askedTargets).toHaveLength(1);
    expect(kiosk.downloaded()).toEqual({ "programs/1.tar.gz": content.toString("latin1") });
  });

  test("that has changed is read again and replaces the old file", async () => {
    const { repository, kiosk } = await kioskWithTarget();
    expect(await kiosk.download("programs/1.tar.gz")).toBeUndefined();
    repository.addTarget("programs/1.tar.gz", Buffer.from("new"));
    repository.publish("targets", "snapshot", "timestamp");
    expect(await kiosk.download("programs/1.tar.gz")).toBeUndefined();
    expect(kiosk.downloaded()).toEqual({ "programs/1.tar.gz": "new" });
  });

  test("is continued where a broken line left it, in one download and in the next", async () => {
    const { repository, kiosk } = await kioskWithTarget();
    const froms: number[] = [];
    let broken = 2;
    repository.answers = (request, response, path) => {
      if (!path.startsWith("/targets/")) return false;
      const from = Number(/(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
      froms.push(from);
      if (froms.length > broken) return false;
      const status = from > 0 ? 206 : 200;
      response.writeHead(status, {
        "content-length": content.length - from,
        "content-range": `bytes ${from}-${content.length - 1}/${content.length}`,
      });
      response.write(content.subarray(from, from + 50_000), () => response.destroy());
      return true;
    };
    expect(await kiosk.download("programs/1.tar.gz")).toBeUndefined();
    expect(froms).toHaveLength(3);
    expect(froms[0]).toBe(0);
    expect(froms.toSorted((a, b) => a - b)).toEqual(froms);
    expect(froms[2]).toBeGreaterThan(0);
    expect(kiosk.downloaded()).toEqual({ "programs/1.tar.gz": content.toString("latin1") });

    repository.addTarget("programs/2.tar.gz", content);
    repository.publish("targets", "snapshot", "timestamp");
    froms.length = 0;
    broken = 5;
    expect(await kiosk.download("programs/2.tar.gz")).toContain("unreachable: ");
    expect(await kiosk.download("programs/2.tar.gz")).toBeUndefined();
    expect(froms).toHaveLength(6);
    expect(froms[5]).toBeGreaterThan(froms[4] ?? 0);
  });

  test("with a wrong part next to it is read once more from its beginning", async () => {
    const { repository, kiosk } = await kioskWithTarget();
    writeFileSync(join(kiosk.files, ".programs%2F1.tar.gz.part"), randomBytes(1000));
    expect(await kiosk.download("programs/1.tar.gz")).toBeUndefined();
    expect(repository.askedTargets).toHaveLength(2);
  });
});

describe.each(ways)("by %s is refused with a clear line, and no file is left", (way) => {
  const name = "programs/1.tar.gz";

  test.each([
    ["a shorter file", content.subarray(0, 1000), "too-short: programs/1.tar.gz ends after 1000"],
    ["a longer file", Buffer.concat([content, content]), "is longer than 300000 bytes: refused"],
    ["another file", randomBytes(content.length), "has not the signed sha256: refused"],
  ])("%s", async (_, bytes, line) => {
    const { repository, kiosk } = await kioskWithTarget(content, way);
    repository.targetFiles.set(name, bytes);
    expect(await kiosk.download(name)).toContain(line);
    expect(readdirSync(kiosk.files)).toEqual([]);
  });

  test("an old file stays when its new content is refused", async () => {
    const { repository, kiosk } = await kioskWithTarget(content, way);
    expect(await kiosk.download(name)).toBeUndefined();
    repository.addTarget(name, Buffer.from("better"));
    repository.targetFiles.set(name, Buffer.from("poison"));
    repository.publish("targets", "snapshot", "timestamp");
    expect(await kiosk.download(name)).toContain("wrong-hash: ");
    expect(kiosk.downloaded()).toEqual({ [name]: content.toString("latin1") });
  });

  test("an unsigned target", async () => {
    const { repository, kiosk } = await kioskWithTarget(content, way);
    repository.targetFiles.set("programs/2.tar.gz", content);
    expect(await kiosk.download("programs/2.tar.gz")).toContain("no-target: ");
    expect(repository.askedTargets).toEqual([]);
  });

  test("a target that stolen online keys have signed", async () => {
    const { repository, kiosk } = await kioskWithTarget(content, way);
    repository.addTarget("evil", Buffer.from("evil"));
    repository.signed["targets"].version += 1;
    const stolen = repository.signers.get("snapshot") ?? [];
    repository.published
      .get("targets")
      ?.push(repository.sign(repository.signed["targets"], stolen));
    repository.publish("snapshot", "timestamp");
    expect(await kiosk.download("evil")).toContain("targets was signed by 0/1 keys");
    expect(kiosk.downloaded()).toEqual({});
  });

  test("a snapshot mixed from two states", async () => {
    const { repository, kiosk } = await kioskWithTarget(content, way);
    const [, old] = repository.published.get("snapshot") ?? [];
    repository.publish("targets", "snapshot", "timestamp");
    repository.published.get("snapshot")?.splice(-1, 1, old as Buffer);
    expect(await kiosk.refresh()).toContain("Snapshot version doesn't match timestamp");
    repository.publishesHashes = true;
    repository.publish("targets", "snapshot", "timestamp");
    repository.edit("snapshot", ({ signed }) => {
      signed.meta["targets.json"].version -= 1;
    });
    expect(await kiosk.refresh()).toContain("metadata-refused: ");
  });
});

describe.each([ways[0], ways[1]])("by %s is refused, and no file is left", (way) => {
  const name = "programs/1.tar.gz";

  test.each(["metadata", "targets"])("endless data instead of %s", async (folder) => {
    const { repository, kiosk } = await kioskWithTarget(content, way);
    repository.answers = (_, response, path) => {
      if (!path.startsWith(`/${folder}/`)) return false;
      const chunk = Buffer.alloc(65_536, "{");
      const feed = (): void => void (response.writable && response.write(chunk, feed));
      feed();
      return true;
    };
    expect(await kiosk.download(name)).toMatch(/too-long: .* bytes: refused/);
    expect(readdirSync(kiosk.files)).toEqual([]);
  });

  test("a redirect, also to the right file", async () => {
    const { repository, kiosk } = await kioskWithTarget(content, way);
    repository.answers = (_, response, path) => {
      if (!path.startsWith("/metadata/") || path.includes("moved")) return false;
      response.writeHead(302, { location: `${repository.url}${path}?moved` }).end();
      return true;
    };
    expect(await kiosk.refresh()).toMatch(/redirected: .* leads elsewhere \(302\): refused/);
  });

  test("a server's fault", async () => {
    const { repository, kiosk } = await kioskWithTarget(content, way);
    repository.answers = (_, response) => void response.writeHead(500).end() === undefined;
    expect(await kiosk.refresh()).toContain("was answered with 500");
    repository.answers = (_, response) => void response.writeHead(404).end() === undefined;
    const nothing = `nothing is there: ${repository.url}/metadata/timestamp.json was answered with`;
    expect(await kiosk.refresh()).toBe(`http-status: ${nothing} 404`);
  });
});

describe("refused after a time is", () => {
  const name = "programs/1.tar.gz";

  test.each(["metadata", "targets"])("%s that comes byte by byte", async (folder) => {
    const { repository, kiosk } = await kioskWithTarget();
    repository.answers = (_, response, path) => {
      if (!path.startsWith(`/${folder}/`)) return false;
      const timer = setInterval(() => response.write("{"), 20);
      response.on("close", () => clearInterval(timer));
      return true;
    };
    // Next to other work a file of metadata can take longer than the window, too.
    if (folder === "targets") expect(await kiosk.refresh()).toBeUndefined();
    kiosk.windowMs = 250;
    expect(await kiosk.download(name)).toMatch(/too-slow: .* brought \d+ bytes in 0.25 s/);
  });

  test("a server that never answers", async () => {
    const { repository, kiosk } = await kioskWithTarget();
    repository.answers = () => true;
    kiosk.windowMs = 250;
    expect(await kiosk.refresh()).toMatch(/too-slow: .*2\.root\.json brought 0 bytes/);
  });
});

test.each(["http://192.0.2.1/", "http://example.org/", "ftp://127.0.0.1/", "file:///etc", "x"])(
  "%s is not asked",
  async (url) => {
    const read = readWebFile({ clock: systemClock }, url, { lengthMax: 1 });
    await expect(read).rejects.toThrow("is not asked: https, or http");
  },
);

describe("over https", () => {
  async function served(): Promise<string> {
    const server = createServer(selfSigned, (_, response) => response.end("whole"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  test("a certificate counts that the file of certificates holds, and no other", async () => {
    const url = await served();
    const [clock, reading] = [systemClock, { lengthMax: 10 }];
    const known = await readWebFile({ clock, ca: [selfSigned.cert] }, url, reading);
    expect(`${known}`).toBe("whole");
    const refused = readWebFile({ clock }, url, reading);
    await expect(refused).rejects.toThrow("cannot be read: DEPTH_ZERO_SELF_SIGNED_CERT");
  });
});

describe("through a proxy", () => {
  const url = "https://updates.example.test/metadata/timestamp.json";
  const through = (proxy: { url: string }, more: Partial<WebSettings> = {}, secrets = {}) => {
    const settings = { PROXY_URL: proxy.url, PROXY_USER: "kiosk", PROXY_PASSWORD: "s:e/cr%t" };
    const proxyFor = proxyChoice({ ...settings, ...secrets }, {});
    return readWebFile({ clock: systemClock, proxyFor, ...more }, url, { lengthMax: 10 });
  };

  test("that may decrypt TLS a file is read, and no other certificate counts", async () => {
    const { key, cert } = selfSignedTls(["updates.example.test"], systemClock.now());
    const server = createServer({ key, cert }, (_, response) => response.end("whole"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const proxy = await testProxy({ to: port, login: "kiosk:s:e/cr%t" });
    const PROXY_CA_FILE = join(temporaryFolder(), "proxy.pem");
    writeFileSync(PROXY_CA_FILE, cert);
    expect(`${await through(proxy, {}, { PROXY_CA_FILE })}`).toBe("whole");
    expect(`${await through(proxy, { ca: [String(cert)] })}`).toBe("whole");
    await expect(through(proxy)).rejects.toThrow(/: DEPTH_ZERO_SELF_SIGNED_CERT$/);
    expect(new Set(proxy.asked)).toEqual(new Set(["CONNECT updates.example.test:443"]));
    await expect.poll(proxy.open).toBe(0);
  });

  test("that refuses, nothing is read, and the fault names the proxy without login", async () => {
    const proxy = await testProxy({ login: "another:login" });
    const why = `cannot be read through the proxy ${proxy.url}: Failed to establish tunnel`;
    const read = through(proxy);
    await expect(read).rejects.toMatchObject({ code: "unreachable" });
    await expect(read).rejects.toThrow(new RegExp(`${why}.* 407 Proxy Authentication Required$`));
    await expect(read).rejects.not.toThrow(/kiosk|e.cr/);
    const proxyFor = proxyChoice({}, { HTTPS_PROXY: "http://user:pa/ss@proxy:8080" });
    const invalid = { code: "unreachable", message: expect.stringMatching(/: HTTPS_PROXY is not/) };
    await expect(through(proxy, { proxyFor })).rejects.toMatchObject(invalid);
  });

  test.each([
    ["a redirect", "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\n\r\n"],
    ["a page in place of a tunnel", "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nwhole"],
    ["a header without an end", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(1_000_000)}`],
    ["no HTTP", "220 welcome\r\n\r\n"],
  ])("that answers with %s, nothing is read", async (_, bytes) => {
    const proxy = await testProxy({ answer: (socket) => void socket.end(bytes) });
    await expect(through(proxy)).rejects.toMatchObject({ code: "unreachable" });
    await expect.poll(proxy.open).toBe(0);
  });

  test.each(["the time limit", "the caller"])("that does not answer %s ends a read", async (by) => {
    const asked = Promise.withResolvers<void>();
    const proxy = await testProxy({ answer: () => asked.resolve() });
    const [clock, stop] = [new TestClock(), new AbortController()];
    const read = through(proxy, { clock, signal: stop.signal });
    const refused = expect(read).rejects.toMatchObject(
      by === "the caller" ? { name: "AbortError" } : { code: "too-slow" },
    );
    await asked.promise;
    if (by === "the caller") stop.abort();
    else await clock.advance(30_000);
    await refused;
    await expect.poll(proxy.open).toBe(0);
    expect(clock.running).toEqual([]);
  });
});

describe("scripts/tuf-client", () => {
  async function tufClient(...args: string[]): Promise<{ code: number; err: string }> {
    try {
      await runToEnd(join(projectRoot, "scripts/tuf-client"), args);
      return { code: 0, err: "" };
    } catch (error) {
      const { code, stderr } = error as { code: number; stderr: string };
      return { code, err: stderr };
    }
  }

  test("initialises, refreshes and downloads, and fails with 1", async () => {
    const { repository } = await kioskWithTarget(Buffer.from("content"));
    repository.addTarget("other", Buffer.from("else"));
    repository.publish("targets", "snapshot", "timestamp");
    const [folder, files] = [join(temporaryFolder(), "metadata"), temporaryFolder()];
    const root = join(files, ".root.json");
    writeFileSync(root, repository.trustedRoot);
    const D = ["--metadata-dir", folder];
    const U = ["--metadata-url", `${repository.url}/metadata/`];
    expect(await tufClient(...D, "init", root)).toEqual({ code: 0, err: "" });
    expect(await tufClient(...D, ...U, "refresh")).toEqual({ code: 0, err: "" });
    expect(readdirSync(folder).toSorted()).toEqual([
      "root.json",
      "seal",
      "snapshot.json",
      "targets.json",
      "timestamp.json",
    ]);
    const to = ["--target-base-url", `${repository.url}/targets/`, "--target-dir", files];
    const names = ["--target-name", "programs/1.tar.gz", "--target-name", "other"];
    expect(await tufClient(...D, ...U, "download", ...names, ...to)).toEqual({ code: 0, err: "" });
    expect(readdirSync(files)).toEqual([".root.json", "other", "programs%2F1.tar.gz"]);
    const missing = await tufClient(...D, ...U, ...to, "--target-name", "missing", "download");
    expect(missing).toEqual({
      code: 1,
      err: "tuf-client: the signed metadata name no target missing\n",
    });
  });
});

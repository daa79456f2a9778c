import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Clock, systemClock } from '../../../../../src/platform/clock.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { Crc32c } from '../../../../../src/results/stores/gcs/crc32c.ts';
import { GcsUpload } from '../../../../../src/results/stores/gcs/gcs-upload.ts';
import { WAIT_LIMIT_MS } from '../../../../support/limits.ts';

const MB = 1024 * 1024;
const IMPATIENT: Clock = { ...systemClock, schedule: (callback) => systemClock.schedule(callback, 0) };

/** A resumable upload session as documented by GCS; each request with bytes takes one entry of `faults`. */
class Session {
  stored = Buffer.alloc(0);
  total: number | undefined;
  hash: string | undefined;
  deleted = false;
  requests = 0;
  /** The next requests of any kind that get status 503. */
  unavailable = 0;
  /** How many of the bytes are kept, and the response status; `hang up` closes the connection. `reported`: how many bytes are claimed to be stored. */
  readonly faults: { kept: number; status: number | 'hang up'; reported?: number; reason?: string }[] = [];

  async take(
    request: IncomingMessage,
  ): Promise<{ status: number | 'hang up'; range: string | undefined; reason?: string | undefined }> {
    if (request.method === 'DELETE') {
      this.deleted = true;
      return { status: 499, range: undefined };
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const [, from, total = ''] =
      /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(request.headers['content-range'] ?? '') ?? [];
    this.requests++;
    if (this.unavailable > 0) {
      this.unavailable--;
      return { status: 503, range: undefined };
    }
    const fault = from === undefined ? undefined : this.faults.shift();
    if (from !== undefined) {
      expect(Number(from)).toBe(this.stored.length);
      this.stored = Buffer.concat([this.stored, bytes.subarray(0, fault?.kept ?? bytes.length)]);
    }
    if (total !== '*') this.hash = String(request.headers['x-goog-hash']);
    const complete = total !== '*' && Number(total) === this.stored.length;
    const reported = fault?.reported ?? this.stored.length;
    const range = reported === 0 ? undefined : `bytes=0-${reported - 1}`;
    return { status: fault?.status ?? (complete ? 200 : 308), range, reason: fault?.reason };
  }
}

let session: Session;
let server: Server;
let agent: Agent;
beforeEach(async () => {
  session = new Session();
  agent = new Agent();
  server = createServer((request, response) => {
    void session.take(request).then(({ status, range, reason }) => {
      if (status === 'hang up') return request.socket.destroy();
      response.writeHead(status, range === undefined ? {} : { range });
      return response.end(reason === undefined ? '' : JSON.stringify(refusal(reason)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await agent.close();
  server.close();
});

interface UploadOptions {
  readonly signal?: AbortSignal;
  /** Resolves when the session may be opened. */
  readonly opened?: Promise<void>;
  /** The errors of the first attempts to open the session. */
  readonly refusals?: unknown[];
  readonly clock?: Clock;
}

/** The body of a response of the JSON API with status 403. */
function refusal(reason: string): object {
  return { error: { code: 403, message: 'refused', errors: [{ domain: 'usageLimits', reason }] } };
}

/** By default, retries are not delayed. */
function upload({
  signal = AbortSignal.timeout(WAIT_LIMIT_MS),
  opened,
  refusals = [],
  clock = IMPATIENT,
}: UploadOptions = {}): GcsUpload {
  const { port } = server.address() as AddressInfo;
  const start = async (): Promise<string> => {
    await opened;
    if (refusals.length > 0) throw refusals.shift();
    return `http://127.0.0.1:${port}/upload?upload_id=1`;
  };
  return new GcsUpload({ start, dispatcher: agent, clock, signal });
}

/** Bytes whose values depend on their position. */
function bytes(length: number): Buffer {
  const all = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) all.writeUInt32BE(at, at);
  return all;
}

async function send(all: Buffer, to = upload()): Promise<void> {
  for (let at = 0; at < all.length; at += MB) await to.write(all.subarray(at, at + MB));
  await to.complete();
}

function checksum(all: Buffer): string {
  const crc = new Crc32c();
  crc.update(all);
  return `crc32c=${crc.toString()}`;
}

describe('a resumable upload', () => {
  it.each([0, 100, 8 * MB, 20 * MB + 12])('uploads %d bytes with their checksum', async (length) => {
    const all = bytes(length);
    await send(all);
    expect(session.stored.equals(all)).toBe(true);
    expect(session.hash).toBe(checksum(all));
  });

  it.each([
    ['a part that the server stores partially', { kept: MB, status: 308 }],
    ['a part of which the server stores nothing', { kept: 0, status: 308 }],
    ['an error after some bytes were stored', { kept: MB, status: 503 }],
    ['a lost connection', { kept: 0, status: 'hang up' }],
    ['an error after all bytes were stored', { kept: 8 * MB, status: 500 }],
  ] as const)('continues at the offset of the server after %s', { tags: 'slow' }, async (_what, fault) => {
    session.faults.push(fault);
    const all = bytes(20 * MB);
    await send(all);
    expect(session.stored.equals(all)).toBe(true);
  });

  it('retries the last part', async () => {
    session.faults.push({ kept: 50, status: 503 }, { kept: 50, status: 503 });
    const all = bytes(100);
    await send(all);
    expect(session.stored.equals(all)).toBe(true);
  });

  it('does not retry after a status that is final', async () => {
    session.faults.push({ kept: 0, status: 403 });
    await expect(send(bytes(100))).rejects.toThrow('status 403 for bytes 0-99');
    expect(session.requests).toBe(1);
  });

  it.each([408, 429, 500, 599])('retries after the status %d', async (status) => {
    session.faults.push({ kept: 0, status });
    await send(bytes(100));
    expect(session.stored.equals(bytes(100))).toBe(true);
  });

  it.each(['rateLimitExceeded', 'userRateLimitExceeded'])('retries after a 403 with the reason %s', async (reason) => {
    session.faults.push({ kept: 0, status: 403, reason });
    await send(bytes(100));
    expect(session.stored.equals(bytes(100))).toBe(true);
  });

  it('does not retry after a 403 for a missing permission', async () => {
    session.faults.push({ kept: 0, status: 403, reason: 'forbidden' });
    await expect(send(bytes(100))).rejects.toThrow('status 403 for bytes 0-99');
    expect(session.requests).toBe(1);
  });

  it.each([
    ['a 503', { status: 503, response: { status: 503 } }],
    ['a 500', { response: { status: 500 } }],
    ['a 429', { status: 429 }],
    ['a 403 for too many requests', { status: 403, response: { status: 403, data: refusal('rateLimitExceeded') } }],
    ['a lost connection', Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })],
  ])('opens the session again after %s', async (_what, error) => {
    await send(bytes(100), upload({ refusals: [error, error, error] }));
    expect(session.stored.equals(bytes(100))).toBe(true);
  });

  it('makes four attempts to open the session', async () => {
    const refusals = Array.from({ length: 5 }, () => ({ status: 503 }));
    await expect(send(bytes(100), upload({ refusals }))).rejects.toMatchObject({ status: 503 });
    expect(refusals).toHaveLength(1);
  });

  it.each([
    ['a 403 for a missing permission', { status: 403, response: { status: 403, data: refusal('forbidden') } }],
    ['a 404', { status: 404 }],
  ])('does not open the session again after %s', async (_what, error) => {
    const refusals = [error, error];
    await expect(send(bytes(100), upload({ refusals }))).rejects.toBe(error);
    expect(refusals).toHaveLength(1);
  });

  it.each([400, 407, 410, 428, 499])('does not retry after the status %d', async (status) => {
    session.faults.push({ kept: 0, status });
    await expect(send(bytes(100))).rejects.toThrow(`status ${status} for bytes 0-99`);
  });

  it.each([
    ['loses bytes of earlier parts', 8 * MB - 1],
    ['has more bytes than were sent', 16 * MB + 1],
  ])('fails where the server %s, and is not retried', async (_what, reported) => {
    session.faults.push({ kept: 8 * MB, status: 308 }, { kept: 8 * MB, status: 308, reported });
    await expect(send(bytes(17 * MB))).rejects.toThrow(
      `the server reports ${reported} stored bytes after bytes ${8 * MB} to ${16 * MB} were sent`,
    );
    expect(session.requests).toBe(2);
  });

  it.each([9 * MB, 100])(
    'of %d bytes goes on where the server stores bytes with the fourth request',
    async (length) => {
      for (let request = 0; request < 3; request++) session.faults.push({ kept: 0, status: 308 });
      await send(bytes(length));
      expect(session.stored.equals(bytes(length))).toBe(true);
    },
  );

  it('fails where the server stores nothing with four requests', async () => {
    for (let request = 0; request < 4; request++) session.faults.push({ kept: 0, status: 308 });
    await expect(send(bytes(100))).rejects.toThrow('the server still has 0 of 100 bytes after 4 requests');
    expect(session.requests).toBe(4);
  });

  it('is complete with the status 201', async () => {
    session.faults.push({ kept: 100, status: 201 });
    await send(bytes(100));
    expect(session.requests).toBe(1);
  });

  it('stops waiting for a retry when the caller aborts', async () => {
    session.faults.push({ kept: 0, status: 503 });
    const caller = new AbortController();
    const clock = new FakeClock();
    const sent = send(bytes(100), upload({ signal: caller.signal, clock }));
    sent.catch(() => undefined);
    await vi.waitFor(() => expect(clock.timers).toBe(1), { timeout: WAIT_LIMIT_MS });
    caller.abort();
    await expect(sent).rejects.toMatchObject({ name: 'AbortError' });
    expect([session.requests, clock.timers]).toEqual([1, 0]);
  });

  it('gives each part four attempts, with a growing delay', async () => {
    const delays: number[] = [];
    const clock: Clock = {
      ...systemClock,
      random: () => 0.5,
      schedule: (callback, ms) => (delays.push(ms), systemClock.schedule(callback, 0)),
    };
    session.unavailable = 3;
    await send(bytes(9 * MB), upload({ clock }));
    session.unavailable = 4;
    await expect(send(bytes(100), upload({ clock }))).rejects.toThrow('503');
    expect(delays).toEqual([375, 750, 1500, 375, 750, 1500]);
  });

  it('deletes the session on abort', async () => {
    const begun = upload();
    await begun.write(bytes(9 * MB));
    await begun.abort();
    expect(session.deleted).toBe(true);
  });

  it('deletes a session that was being opened when the client aborted', async () => {
    const leaving = new AbortController();
    const opening = Promise.withResolvers<void>();
    const begun = upload({ signal: leaving.signal, opened: opening.promise });
    const sent = send(bytes(100), begun);
    setImmediate(() => leaving.abort());
    await expect(sent).rejects.toMatchObject({ code: 'aborted' });
    const aborted = begun.abort();
    opening.resolve();
    await aborted;
    expect([session.deleted, session.requests]).toEqual([true, 0]);
  });

  it('sends nothing on abort if no session was opened', async () => {
    const begun = upload({ opened: Promise.reject(new Error('403')) });
    await expect(send(bytes(100), begun)).rejects.toThrow('403');
    await begun.abort();
    expect(session.deleted).toBe(false);
  });
});

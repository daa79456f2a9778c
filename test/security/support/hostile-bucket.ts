import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { Crc32c } from '../../../src/results/stores/gcs/crc32c.ts';
import { JSON_MARKS } from './fuzz.ts';
import { once } from '../../support/once.ts';

export const BUCKET = 'results';

/** A response before it is changed. */
interface Plain {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** How the response to one request is changed. Positions are parts of the body, from 0 to 1. */
export interface Change {
  readonly status?: number | undefined;
  /** Replaces headers; undefined removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly edits: readonly { readonly at: number; readonly removed: number; readonly insert: string }[];
  /** The length that is announced is that of the body before it was changed. */
  readonly keepsLength: boolean;
}

const HEADERS = ['content-length', 'content-range', 'content-type', 'content-encoding', 'etag', 'location', 'range'];
const VALUES = ['0', '-1', '1e9', '99999999999999999999', 'bytes 0-0/1', 'bytes 5-2/x', 'gzip', 'text/html', '"x"', ''];
const INSERTED = [
  '<',
  '>',
  '&amp;',
  '&#0;',
  '<![CDATA[',
  '<Key>',
  '</Key>',
  '<Contents>',
  '<IsTruncated>true</IsTruncated>',
];
const MORE = [...JSON_MARKS, 'null', '{"items":[null]}', '-1', '1e400', '\u0000', '\u00ff', '__proto__'];

/** @param statuses that are tried */
export function change(statuses: readonly number[]): fc.Arbitrary<Change> {
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    removed: fc.oneof(fc.constant(0), fc.nat({ max: 8 }), fc.constant(1e9)),
    insert: fc.oneof(fc.constantFrom('', ...INSERTED, ...MORE), fc.string({ maxLength: 5 })),
  });
  const header = fc.tuple(fc.constantFrom(...HEADERS), fc.option(fc.constantFrom(...VALUES), { nil: undefined }));
  return fc.record({
    status: fc.option(fc.constantFrom(...statuses), { nil: undefined, freq: 3 }),
    headers: fc.array(header, { maxLength: 2 }).map((entries) => Object.fromEntries(entries)),
    edits: fc.array(edit, { maxLength: 3 }),
    keepsLength: fc.boolean(),
  });
}

/** A bucket over HTTP that applies each request, and changes its responses as planned. */
export abstract class HostileBucket {
  readonly objects = new Map<string, Buffer>();
  /** Changes of the next responses, in their order; undefined for a valid one. */
  plan: (Change | undefined)[] = [];
  requests = 0;
  readonly #server = createServer((request, response) => {
    void this.#serve(request).then(
      (bytes) => request.socket.end(bytes),
      () => response.destroy(),
    );
  });

  async listen(): Promise<void> {
    this.#server.on('connection', (socket) => socket.on('error', () => undefined));
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }

  protected abstract answer(method: string, url: URL, body: Buffer, range: string | undefined): Plain;

  async #serve(request: IncomingMessage): Promise<Buffer> {
    const body = await buffer(request);
    this.requests++;
    const { method = '', url = '', headers } = request;
    const plain = this.answer(method, new URL(url, this.url), body, headers.range ?? headers['content-range']);
    return bytesOf(plain, this.plan.shift(), method === 'HEAD');
  }

  protected static part(bytes: Buffer, range: string | undefined, headers: Readonly<Record<string, string>>): Plain {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
    if (from === undefined) return { status: 200, headers, body: bytes };
    const last = Math.min(Number(to), bytes.length - 1);
    const contentRange = `bytes ${from}-${last}/${bytes.length}`;
    const body = bytes.subarray(Number(from), last + 1);
    return { status: 206, headers: { ...headers, 'content-range': contentRange }, body };
  }
}

function bytesOf({ status, headers, body }: Plain, changed: Change | undefined, isHead: boolean): Buffer {
  let sent = body;
  for (const { at, removed, insert } of changed?.edits ?? []) {
    const from = Math.floor(at * sent.length);
    sent = Buffer.concat([sent.subarray(0, from), Buffer.from(insert, 'latin1'), sent.subarray(from + removed)]);
  }
  const length = changed?.keepsLength === false ? sent.length : body.length;
  const all = { 'content-length': String(length), ...headers, ...changed?.headers };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  const head = [`HTTP/1.1 ${changed?.status ?? status} Status`, 'Connection: close', ...lines].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), isHead ? Buffer.alloc(0) : sent]);
}

const json = (status: number, value: unknown): Plain => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
});
const xml = (status: number, text: string): Plain => ({
  status,
  headers: { 'content-type': 'application/xml' },
  body: Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`),
});
const NOTHING: Plain = { status: 204, headers: {}, body: Buffer.alloc(0) };
const MODIFIED = '2026-01-02T03:04:05.000Z';

/** Objects of one part in the REST interface of S3, with the bucket in the path. */
export class HostileS3 extends HostileBucket {
  protected answer(method: string, url: URL, body: Buffer, range: string | undefined): Plain {
    const key = decodeURIComponent(url.pathname.split('/').slice(2).join('/'));
    if (key === '') return url.searchParams.has('uploads') ? xml(200, UPLOADS) : this.#list(url);
    const found = this.objects.get(key);
    if (method === 'PUT') this.objects.set(key, body);
    if (method === 'DELETE') this.objects.delete(key);
    if (method === 'PUT') return { status: 200, headers: { etag: '"e"' }, body: Buffer.alloc(0) };
    if (method === 'DELETE') return NOTHING;
    if (found === undefined) return xml(404, '<Error><Code>NoSuchKey</Code><Message>absent</Message></Error>');
    return HostileBucket.part(found, range, { etag: '"e"', 'content-type': 'application/octet-stream' });
  }

  #list(url: URL): Plain {
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(url.searchParams.get('prefix') ?? ''));
    const contents = keys.map(
      (key) =>
        `<Contents><Key>${key}</Key><Size>${this.objects.get(key)?.length}</Size><LastModified>${MODIFIED}</LastModified></Contents>`,
    );
    return xml(200, `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`);
  }
}
const UPLOADS = '<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>';

/** The JSON interface of Google Cloud Storage. */
export class HostileGcs extends HostileBucket {
  #session = '';

  protected answer(method: string, url: URL, body: Buffer, range: string | undefined): Plain {
    const type = url.searchParams.get('uploadType');
    if (url.pathname === '/session') return this.#append(method, body);
    if (method === 'POST') return this.#upload(url, type, body);
    const key = decodeURIComponent(url.pathname.split('/o/')[1] ?? '');
    if (key === '') return this.#list(url);
    const found = this.objects.get(key);
    if (method === 'DELETE') this.objects.delete(key);
    if (found === undefined) return json(404, { error: { code: 404, message: 'absent' } });
    if (method === 'DELETE') return NOTHING;
    if (url.searchParams.get('alt') !== 'media') return json(200, this.#metadata(key));
    return HostileBucket.part(found, range, { 'content-type': 'application/octet-stream' });
  }

  #metadata(name: string): object {
    const bytes = this.objects.get(name) ?? Buffer.alloc(0);
    const crc = new Crc32c();
    crc.update(bytes);
    return { kind: 'storage#object', name, size: String(bytes.length), updated: MODIFIED, crc32c: crc.toString() };
  }

  #list(url: URL): Plain {
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(url.searchParams.get('prefix') ?? ''));
    return json(200, { kind: 'storage#objects', items: keys.map((key) => this.#metadata(key)) });
  }

  #upload(url: URL, type: string | null, body: Buffer): Plain {
    const named = url.searchParams.get('name') ?? /"name":"([^"]+)"/.exec(body.toString('latin1'))?.[1] ?? '';
    this.#session = named;
    if (type === 'resumable')
      return { status: 200, headers: { location: `${this.url}/session` }, body: Buffer.alloc(0) };
    // Two parts: metadata and content.
    const content = body.subarray(body.lastIndexOf('\r\n\r\n') + 4, body.lastIndexOf('\r\n--'));
    this.objects.set(named, Buffer.from(content));
    return json(200, this.#metadata(named));
  }

  #append(method: string, body: Buffer): Plain {
    if (method === 'DELETE') return { status: 499, headers: {}, body: Buffer.alloc(0) };
    this.objects.set(this.#session, body);
    return json(200, this.#metadata(this.#session));
  }
}

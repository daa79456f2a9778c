/** The head of a request that can be read in one way only. */
export interface PlainHead {
  readonly method: string;
  readonly url: string;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  /** Bytes of the head, with the empty line at its end. */
  readonly length: number;
  /** Of the body. */
  readonly contentLength: number;
  /** Whether there is nothing to look at but the request itself: it asks nothing of the connection. */
  readonly simple: boolean;
}

/** What Node's own parser allows a head. */
const MAX_HEAD_BYTES = 16 * 1024;
const MAX_HEADERS = 100;
const LINE_FEED = 0x0a;
const END_OF_HEAD = Buffer.from('\r\n\r\n');
/** A method that is none makes Node's parser refuse the request, as it should. */
const REQUEST_LINE = /^(?!CONNECT )([A-Z]{3,10}) (\/[!-~]*) HTTP\/1\.1\r\n$/;
/** Where a value begins is decided once: a reader that tried each of the blanks before a bad byte would take time by their square. */
const HEADER =
  /([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(?![ \t])((?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?)[ \t]*\r\n/y;
const KEEP_ALIVE = 'keep-alive';
const LENGTH = /^\d{1,15}$/;
/** What asks for something beside an answer. */
const SPECIAL = new Set(['expect', 'http2-settings', 'trailer', 'te']);
/** What says how long a request is, and what becomes of its connection: each may be there once. */
const FRAMING = new Set(['host', 'content-length', 'connection']);
/** What is never plain. Node's parser takes the old name of `Connection` for the same, and after an upgrade it reads no request any more. */
const NEVER_PLAIN = new Set(['transfer-encoding', 'proxy-connection', 'upgrade']);

/**
 * Reads the heads of the requests of one connection. What two readers could take in two ways is not plain: two lengths, a length and chunks, lines that are folded or end in a
 * bare line feed, a space where none belongs, an absolute URL, a connection that ends.
 */
export class HeadReader {
  /** Most clients send the same headers with each request of a connection. */
  #last: { readonly bytes: Buffer; readonly headers: Headers } | undefined;

  /** @returns undefined where the end of the head is not there yet; null where it is not plain */
  read(bytes: Buffer): PlainHead | null | undefined {
    const lineEnd = bytes.indexOf(LINE_FEED) + 1;
    const found = lineEnd === 0 ? undefined : this.#headers(bytes, lineEnd);
    if (found === undefined) return bytes.length > MAX_HEAD_BYTES ? null : undefined;
    if (found === null) return null;
    const line = REQUEST_LINE.exec(bytes.toString('latin1', 0, lineEnd));
    if (line === null) return null;
    const { headers, length } = found;
    const { rawHeaders, contentLength, simple } = headers;
    return { method: line[1] as string, url: line[2] as string, length, rawHeaders, contentLength, simple };
  }

  /** @param from where the first header begins */
  #headers(bytes: Buffer, from: number): { headers: Headers; length: number } | null | undefined {
    const last = this.#last;
    if (last !== undefined && startsWith(bytes, from, last.bytes)) {
      return { headers: last.headers, length: from + last.bytes.length };
    }
    // Without any header it is the end of the line of the request.
    const end = bytes.indexOf(END_OF_HEAD, from - 2);
    if (end < 0) return undefined;
    const length = end + END_OF_HEAD.length;
    if (length > MAX_HEAD_BYTES) return null;
    const headers = readHeaders(bytes.toString('latin1', from, end + 2));
    if (headers === undefined) return null;
    this.#last = { bytes: Buffer.from(bytes.subarray(from, length)), headers };
    return { headers, length };
  }
}

function startsWith(bytes: Buffer, from: number, expected: Buffer): boolean {
  const to = from + expected.length;
  return to <= bytes.length && bytes.compare(expected, 0, expected.length, from, to) === 0;
}

type Headers = Pick<PlainHead, 'rawHeaders' | 'contentLength' | 'simple'>;

function readHeaders(text: string): Headers | undefined {
  const rawHeaders: string[] = [];
  const framing = new Map<string, string>();
  let simple = true;
  for (HEADER.lastIndex = 0; HEADER.lastIndex < text.length;) {
    const [, name, value = ''] = HEADER.exec(text) ?? [];
    if (name === undefined || rawHeaders.length >= 2 * MAX_HEADERS) return undefined;
    rawHeaders.push(name, value);
    const known = name.toLowerCase();
    if (NEVER_PLAIN.has(known)) return undefined;
    if (SPECIAL.has(known)) simple = false;
    if (!FRAMING.has(known)) continue;
    if (framing.has(known)) return undefined;
    framing.set(known, value);
  }
  const { contentLength, simple: plain } = readFraming(framing) ?? {};
  return contentLength === undefined ? undefined : { rawHeaders, contentLength, simple: simple && plain === true };
}

function readFraming(framing: ReadonlyMap<string, string>): Omit<Headers, 'rawHeaders'> | undefined {
  if (!framing.has('host')) return undefined;
  const length = framing.get('content-length') ?? '0';
  const connection = framing.get('connection')?.toLowerCase() ?? KEEP_ALIVE;
  if (!LENGTH.test(length) || connection.includes('close')) return undefined;
  return { contentLength: Number(length), simple: connection === KEEP_ALIVE };
}

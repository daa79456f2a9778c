/** How the end of a body is told: by its length in bytes, by chunks, or by the end of the connection. */
export type Framing = number | 'chunked' | 'until-close';

export interface ResponseHead {
  readonly status: number;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly framing: Framing;
  /** Whether the connection may carry another request afterwards. */
  readonly keepAlive: boolean;
}

/** What came is no HTTP/1.1, or could be read in more than one way. */
export class WireError extends Error {
  readonly code = 'BAD_HTTP';
  constructor(what: string) {
    super(what);
    this.name = 'WireError';
  }
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: .*)?$/;
/** Line ends alone, folded lines and control characters: what readers are known to take in different ways. */
// eslint-disable-next-line no-control-regex
const UNSAFE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\r(?!\n)|(?:^|[^\r])\n|\n[ \t]/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const EDGE = /^[ \t]+|[ \t]+$/g;
const LENGTH = /^\d{1,15}$/;

/**
 * Reads the head of an answer (RFC 9112 sections 4 to 6), strictly.
 * @param text all before the empty line, as Latin-1
 * @param method of the request: an answer to HEAD has no body
 * @throws {WireError}
 */
export function parseResponseHead(text: string, method: string): ResponseHead {
  if (UNSAFE.test(text)) throw new WireError('the head of the answer holds what no header may hold');
  const lines = text.split('\r\n');
  const [, minor, code] = STATUS_LINE.exec(lines[0] ?? '') ?? [];
  if (code === undefined) throw new WireError('the answer does not begin as HTTP/1.1 does');
  const rawHeaders: string[] = [];
  const facts = new FramingFacts(minor === '1');
  for (let i = 1; i < lines.length; i++) {
    const line = lines[i] as string;
    const colon = line.indexOf(':');
    const name = line.slice(0, colon);
    if (colon < 1 || !NAME.test(name)) throw new WireError('the answer has a header without a name');
    const value = line.slice(colon + 1).replace(EDGE, '');
    rawHeaders.push(name, value);
    facts.note(name.toLowerCase(), value);
  }
  const status = Number(code);
  const framing = facts.framing(status, method);
  return { status, rawHeaders, framing, keepAlive: facts.keepAlive && framing !== 'until-close' };
}

/** What headers say about where the body ends. */
class FramingFacts {
  keepAlive: boolean;
  #length: number | undefined;
  #coding: string | undefined;

  constructor(keepAlive: boolean) {
    this.keepAlive = keepAlive;
  }

  note(name: string, value: string): void {
    if (name === 'content-length') {
      if (!LENGTH.test(value) || (this.#length ?? Number(value)) !== Number(value)) {
        throw new WireError('the answer has no length that could be relied on');
      }
      this.#length = Number(value);
    } else if (name === 'transfer-encoding') {
      if (this.#coding !== undefined || value.toLowerCase() !== 'chunked') {
        throw new WireError('the answer has a transfer encoding other than `chunked`');
      }
      this.#coding = value;
    } else if (name === 'connection') {
      if (/\bclose\b/i.test(value)) this.keepAlive = false;
    }
  }

  framing(status: number, method: string): Framing {
    if (this.#coding !== undefined && this.#length !== undefined) {
      throw new WireError('the answer has both a length and a transfer encoding');
    }
    if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return 0;
    return this.#coding === undefined ? (this.#length ?? 'until-close') : 'chunked';
  }
}

import { EngineError, type ResponseHead } from './types.ts';

/** A response head with the framing of its body. */
export interface CheckedHead extends ResponseHead {
  /** `Content-Length` in bytes; undefined if absent. */
  readonly length: number | undefined;
  /** Whether the end of the connection ends the body. */
  readonly untilClose: boolean;
}

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 9110 section 5.5, with Latin-1 letters. Node's server accepts the same characters in response headers. */
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;
const LENGTH = /^\d{1,15}$/;

/**
 * Checks what undici's parser accepts. Another parser could see a different end of the body (RFC 9112 section 6.3), and
 * the gateway's server could fail when it forwards the head.
 * @param method of the request: a response to HEAD has no body
 * @param raw alternating header names and values
 * @throws {EngineError} bad-response
 */
export function checkHead(method: string, status: number, raw: readonly (Buffer | string)[]): CheckedHead {
  if (!(status >= 200 && status <= 599)) throw bad(`\`${status}\` is not the status of a final response`);
  const rawHeaders = raw.map(textOf);
  const framing = new Framing();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const value = rawHeaders[i + 1] as string;
    if (!NAME.test(name)) throw bad('invalid header name');
    if (!VALUE.test(value)) throw bad(`invalid characters in the header \`${name}\``);
    framing.note(name, value, raw[i + 1]?.length === value.length);
  }
  return { status, rawHeaders, ...framing.of(method, status) };
}

/** undici keeps whitespace after a value, which is not part of the value (RFC 9112 section 5). */
function textOf(part: Buffer | string): string {
  const text = typeof part === 'string' ? part : part.toString('latin1');
  let end = text.length;
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) end--;
  return end === text.length ? text : text.slice(0, end);
}

class Framing {
  #length: number | undefined;
  #chunked = false;

  /** @param exact whether nothing followed the value: undici's parser does not find `chunked` before a tab, and takes the chunks for the body */
  note(name: string, value: string, exact: boolean): void {
    // Cheap length check first: only `content-length` and `transfer-encoding` matter.
    if (name.length === 14 && name.toLowerCase() === 'content-length') this.#noteLength(value, exact);
    else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') this.#noteCoding(value, exact);
  }

  of(method: string, status: number): { readonly length: number | undefined; readonly untilClose: boolean } {
    if (this.#chunked && this.#length !== undefined) throw bad('both `Content-Length` and `Transfer-Encoding`');
    const empty = method === 'HEAD' || status === 204 || status === 304;
    if (empty) return { length: 0, untilClose: false };
    return { length: this.#length, untilClose: this.#length === undefined && !this.#chunked };
  }

  #noteLength(value: string, exact: boolean): void {
    if (!exact || !LENGTH.test(value)) throw bad('invalid `Content-Length`');
    if (this.#length !== undefined) throw bad('repeated `Content-Length`');
    this.#length = Number(value);
  }

  #noteCoding(value: string, exact: boolean): void {
    if (this.#chunked) throw bad('repeated `Transfer-Encoding`');
    if (!exact || value.toLowerCase() !== 'chunked') throw bad('`Transfer-Encoding` is not `chunked`');
    this.#chunked = true;
  }
}

function bad(what: string): EngineError {
  return new EngineError('bad-response', `response is not valid HTTP: ${what}`);
}

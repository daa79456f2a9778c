import { redactedStart } from './credentials-in-text.ts';

/** What JSON can hold. Fields that are undefined are left out of it. */
export type Plain = null | boolean | number | string | undefined | readonly Plain[] | { readonly [key: string]: Plain };

/** An error as data. */
export interface PlainError {
  /** Its class; of a thrown value that is not an object, the type. */
  readonly type: string;
  /** Where it says more than the class, such as the code of an error of S3. */
  readonly name?: string;
  readonly message: string;
  readonly code?: string | number;
  /** The HTTP status of the response that caused it. */
  readonly status?: number;
  readonly stack?: string;
  readonly cause?: PlainError | string;
  /** Of an AggregateError. */
  readonly errors?: readonly (PlainError | string)[];
}

/** Fields that could contain a credential. Nothing logs one on purpose; this is a second safeguard. Lower case. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'password',
  'secretkey',
  'bearertoken',
  'token',
]);
const REDACTED = '[redacted]';
const UNREADABLE = '[unreadable]';
const CIRCULAR = '[circular]';
const MORE = '[more was left out]';

/** Larger than an audit record, so that only values that nobody meant to log are cut. */
const MAX_ENTRIES = 20_000;
const MAX_DEPTH = 12;
const MAX_CHARACTERS = 1024 * 1024;
const MAX_TEXT = 64 * 1024;
const MAX_KEY = 256;

const MAX_MESSAGE = 8 * 1024;
/** Of an object that was thrown and is no error. */
const MAX_MESSAGE_ENTRIES = 100;
const MAX_STACK = 8 * 1024;
const MAX_NAME = 256;
/** Of an AggregateError. */
const MAX_ERRORS = 10;
/** Of one copy: the causes of many errors are a tree. */
const MAX_ALL_ERRORS = 16;

/** To print a larger integer takes long. */
const MAX_INTEGER = 2n ** 1024n;

/**
 * Copies one value as data that any serializer accepts, without credentials. It never throws, whatever getters, proxies and `toJSON` of the
 * value do. Depth, number of entries and length are limited; where something is left out, the copy says so.
 */
export class PlainCopy {
  /** The objects that contain the current one. */
  readonly #containing = new Set<object>();
  #entries: number;
  #characters = MAX_CHARACTERS;
  #errors = MAX_ALL_ERRORS;

  constructor(maxEntries: number = MAX_ENTRIES) {
    this.#entries = maxEntries;
  }

  value(value: unknown): Plain {
    switch (typeof value) {
      case 'string':
        return this.#text(value, MAX_TEXT);
      case 'object':
        return value === null ? null : this.#object(value);
      case 'bigint':
      case 'symbol':
        return this.#text(primitiveText(value), MAX_TEXT);
      case 'function':
        return undefined;
      default:
        return value as boolean | number | undefined;
    }
  }

  /** The fields of a record. The field `err` is what was thrown, of any type. */
  fields(record: object): { readonly [key: string]: Plain } {
    const copy = this.#within(record, () => this.#fields(record, true));
    return typeof copy === 'object' ? (copy as { readonly [key: string]: Plain }) : { record: copy };
  }

  /** @param thrown of any type: `throw` and `reject` accept everything */
  error(thrown: unknown): PlainError | string {
    if (this.#errors === 0) return MORE;
    this.#errors -= 1;
    if (typeof thrown !== 'object' || thrown === null) {
      return {
        type: thrown === null ? 'null' : typeof thrown,
        message: this.#text(primitiveText(thrown), MAX_MESSAGE),
      };
    }
    return this.#within(thrown, () => this.#errorFields(thrown)) as unknown as PlainError | string;
  }

  /** The message of what was thrown; where it has none, its code, its name or its class. */
  message(thrown: unknown): string {
    if (typeof thrown !== 'object' || thrown === null) return this.#text(primitiveText(thrown), MAX_MESSAGE);
    const message = this.#within(thrown, () => this.#message(thrown));
    if (message !== '') return message as string;
    const code = this.#code(read(thrown, 'code'));
    return code === undefined ? (this.#name(read(thrown, 'name')) ?? 'unknown error') : String(code);
  }

  #errorFields(error: object): Plain {
    const message = this.#message(error);
    const type = this.#name(className(error) ?? read(error, 'name')) ?? 'object';
    const name = this.#name(read(error, 'name'));
    const code = this.#code(read(error, 'code'));
    const stack = read(error, 'stack');
    const cause = read(error, 'cause');
    return {
      type,
      ...(name !== undefined && name !== type && name !== 'Error' && { name }),
      message,
      ...(code !== undefined && { code }),
      status: statusOf(error),
      ...(typeof stack === 'string' && { stack: this.#stack(stack, read(error, 'message')) }),
      ...(cause !== undefined && { cause: this.#cause(cause) }),
      ...this.#aggregated(error),
    };
  }

  #message(error: object): string {
    const message = read(error, 'message');
    if (typeof message === 'string' && message !== '') return this.#text(message, MAX_MESSAGE);
    if (message === UNREADABLE_VALUE) return UNREADABLE;
    if (isError(error)) return typeof message === 'string' || message === undefined ? '' : this.#json(message);
    return this.#json(error);
  }

  #json(value: unknown): string {
    return this.#text(JSON.stringify(new PlainCopy(MAX_MESSAGE_ENTRIES).value(value)) ?? '', MAX_MESSAGE);
  }

  /** A stack begins with the message. Of a long one only the beginning is kept, and the frames. */
  #stack(stack: string, message: unknown): string {
    const length = typeof message === 'string' ? message.length : 0;
    const frames = length > MAX_MESSAGE ? stack.indexOf('\n    at ', Math.min(length, stack.length)) : -1;
    if (frames < 0) return this.#text(stack, MAX_STACK + MAX_MESSAGE);
    return this.#text(stack, MAX_MESSAGE) + this.#text(stack.slice(frames), MAX_STACK);
  }

  #cause(cause: unknown): Plain {
    if (cause === UNREADABLE_VALUE) return UNREADABLE;
    return this.error(cause) as Plain;
  }

  #aggregated(error: object): { readonly errors?: Plain } {
    const errors = read(error, 'errors');
    if (!isError(error) || !isArray(errors)) return {};
    const first = errors.slice(0, MAX_ERRORS).map((each) => this.#cause(each));
    return { errors: errors.length > MAX_ERRORS ? [...first, `[${errors.length - MAX_ERRORS} more errors]`] : first };
  }

  #code(code: unknown): string | number | undefined {
    return typeof code === 'number' ? code : this.#name(code);
  }

  #name(name: unknown): string | undefined {
    return typeof name === 'string' && name !== '' ? this.#text(name, MAX_NAME) : undefined;
  }

  #object(value: object): Plain {
    if (isError(value)) return this.error(value) as Plain;
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    return this.#within(value, () => {
      if (Array.isArray(value)) return this.#list(value);
      const toJson = read(value, 'toJSON');
      if (typeof toJson !== 'function') return this.#fields(value, false);
      return this.value((toJson as () => unknown).call(value));
    });
  }

  #list(values: readonly unknown[]): Plain {
    const copy: Plain[] = [];
    for (let index = 0; index < values.length; index++) {
      if (!this.#admitEntry()) return [...copy, MORE];
      copy.push(this.#field(values, index));
    }
    return copy;
  }

  #fields(record: object, isRecord: boolean): { readonly [key: string]: Plain } {
    const copy: Record<string, Plain> = {};
    for (const key of Object.keys(record)) {
      if (!this.#admitEntry()) {
        copy['leftOut'] = MORE;
        break;
      }
      const name = this.#key(key);
      if (SECRET_FIELDS.has(key.toLowerCase())) copy[name] = REDACTED;
      else if (isRecord && key === 'err') copy[name] = this.error(read(record, key)) as Plain;
      else copy[name] = this.#field(record, key);
    }
    return copy;
  }

  #key(key: string): string {
    // To set it would set the prototype of the copy.
    if (key === '__proto__') return '["__proto__"]';
    return key.length > MAX_KEY ? this.#text(key, MAX_KEY) : key;
  }

  #field(of: object, key: string | number): Plain {
    const value = read(of, key);
    return value === UNREADABLE_VALUE ? UNREADABLE : this.value(value);
  }

  #admitEntry(): boolean {
    this.#entries -= 1;
    return this.#entries >= 0 && this.#characters > 0;
  }

  #within(container: object, copy: () => Plain): Plain {
    if (this.#containing.has(container)) return CIRCULAR;
    if (this.#containing.size >= MAX_DEPTH) return MORE;
    this.#containing.add(container);
    try {
      return copy();
    } catch {
      return UNREADABLE;
    } finally {
      this.#containing.delete(container);
    }
  }

  #text(text: string, limit: number): string {
    const kept = Math.min(limit, Math.max(this.#characters, 0));
    this.#characters -= Math.min(text.length, kept);
    return redactedStart(text, kept);
  }
}

/** Not a value that any property has. */
const UNREADABLE_VALUE = Symbol(UNREADABLE);

function read(of: object, key: string | number): unknown {
  try {
    return (of as Record<string | number, unknown>)[key];
  } catch {
    return UNREADABLE_VALUE;
  }
}

/** Whether it is an error, also of another realm. False for a Proxy whose prototype cannot be read. */
export function isError(value: unknown): value is Error {
  try {
    return Error.isError(value) || value instanceof Error;
  } catch {
    return false;
  }
}

function isArray(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

function className(of: object): unknown {
  const constructor = read(of, 'constructor');
  const name = typeof constructor === 'function' ? read(constructor, 'name') : undefined;
  return typeof name === 'string' && name !== '' && name !== 'Object' ? name : undefined;
}

/** In the forms of fastify, of the SDKs of Google and AWS, and of HTTP clients. */
function statusOf(error: object): number | undefined {
  const nested = (key: string): unknown => {
    const of = read(error, key);
    return typeof of === 'object' && of !== null ? of : {};
  };
  const found = [
    read(error, 'status'),
    read(error, 'statusCode'),
    read(nested('$metadata') as object, 'httpStatusCode'),
    read(nested('response') as object, 'status'),
  ];
  return found.find((status) => typeof status === 'number');
}

function primitiveText(value: unknown): string {
  if (typeof value === 'function') {
    const name = read(value, 'name');
    return `function ${typeof name === 'string' ? name : ''}`.trimEnd();
  }
  if (typeof value === 'bigint' && (value > MAX_INTEGER || value < -MAX_INTEGER)) return '[large integer]';
  return String(value);
}

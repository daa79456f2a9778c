import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { parsePolicyDocument, validatePolicySpec } from '../../src/access/policy/policy-document.ts';
import { parseSrn, parseSrnPattern } from '../../src/access/policy/srn.ts';
import { HttpError } from '../../src/api/server/errors.ts';
import { clientAddress, trustOf } from '../../src/api/server/request/client-address.ts';
import { printTarget, readTarget } from '../../src/api/server/request/target.ts';
import { parseStrictJson, StrictJsonError } from '../../src/platform/strict-json.ts';
import { recordFromJson } from '../../src/results/stores/record-json.ts';
import { QueryError } from '../../src/results/errors.ts';
import { indexBytes } from '../../src/results/rows/row-index.ts';
import { parseManifest } from '../../src/store/folder/manifest.ts';
import { check, JSON_MARKS, pieces } from './support/fuzz.ts';

// Input of any form gets a value or the documented error within 50 ms of CPU time, never an error of the program. `make fuzz-input` tries 100,000 of each kind.
const NUMBERS = { submissionTimeMs: 1, expirationTimeMs: 2, rowCount: 1, rowBytes: 1, stride: 1, checkpoints: 1 };
const LISTS = { tables: ['orders'], fields: [], tableFields: [] };
/** Names that mean something to JavaScript, and to parsers. */
const ODD_KEYS = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '', '\u0000', '*', 'effect'];
const key = fc.oneof(fc.constantFrom(...ODD_KEYS, 'statements', 'version', 'resources', 'actions'), fc.string());
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.constantFrom(null, true, 0, -1, 1e308, '', '*', 'allow', 'srn2:table#a'),
    fc.string(),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('json')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  ),
}));

const prototype = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
const isUnpolluted = (): void => expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(prototype);

/** @returns undefined where `read` throws one of the documented errors */
function attempt<T>(read: () => T, errors: readonly (abstract new (...args: never[]) => Error)[]): T | undefined {
  try {
    return read();
  } catch (error) {
    if (errors.some((type) => error instanceof type)) return undefined;
    throw error;
  }
}

describe('input of any form', () => {
  it('as JSON is a value that JSON.parse reads in the same way, or an error', () => {
    const text = pieces(
      ...JSON_MARKS,
      '"a"',
      '"__proto__"',
      '1',
      '-',
      'e9',
      '.',
      'null',
      'true',
      '\\u0061',
      '\\',
      ' ',
      '\n',
    );
    check(
      fc.oneof(
        text,
        json.map((value) => JSON.stringify(value)),
      ),
      (body) => {
        const value = attempt(() => parseStrictJson(Buffer.from(body)), [StrictJsonError]);
        if (value !== undefined) expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(body)));
        isUnpolluted();
      },
    );
  });

  it('as bytes is no JSON, or the JSON of its UTF-8', () => {
    check(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const value = attempt(() => parseStrictJson(bytes), [StrictJsonError]);
      if (value !== undefined)
        expect(value).toEqual(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
    });
  });

  it('as an SRN is parsed or described', () => {
    check(pieces('srn2:', 'srn:', 'table', '#', ':', '*', 'cluster', 'environment', 'a', '%', '\u0000'), (text) => {
      for (const result of [parseSrn(text), parseSrnPattern(text)]) expect(typeof result).toBe('object');
    });
  });

  it('as a policy is valid or has problems', () => {
    check(json, (value) => {
      parsePolicyDocument(value);
      validatePolicySpec(value);
      isUnpolluted();
    });
  });

  it('as a URL is a target that other parsers read in the same way, or 400', () => {
    check(
      pieces('/', '?', '&', '=', '%2F', '%00', '%', '..', '.', '#', ';', '\\', 'a', '//', '%C0%AF', '+', ' '),
      (text) => {
        const target = attempt(() => readTarget(`/${text}`), [HttpError]);
        if (target === undefined) return;
        // What is forwarded means the same to another parser of URLs.
        const { searchParams } = new URL(`http://engine${printTarget(target)}`);
        expect([...searchParams]).toEqual([...target.parameters]);
        expect(target.segments.filter((segment) => segment === '..' || segment === '.')).toEqual([]);
      },
    );
  });

  it('as `X-Forwarded-For` does not replace an address without trust, and never fails', () => {
    const forwarded = pieces('1.2.3.4', ',', ' ', '::1', '[', ']', ':', '127.0.0.1', '"', 'for=', '999.1.1.1');
    const trusted = trustOf(['127.0.0.1/32']);
    check(forwarded, (text) => {
      const request = (remoteAddress: string): IncomingMessage =>
        ({ headers: { 'x-forwarded-for': text }, socket: { remoteAddress } }) as unknown as IncomingMessage;
      expect(clientAddress(request('9.9.9.9'), trusted)).toBe('9.9.9.9');
      expect(clientAddress(request('127.0.0.1'), undefined)).toBe('127.0.0.1');
      expect(typeof clientAddress(request('127.0.0.1'), trusted)).toBe('string');
    });
  });

  it('as a manifest in the folder is a value or an error, also with aliases and tags', () => {
    const yaml = pieces(
      'a: ',
      '\n',
      '  ',
      '- ',
      '&x ',
      '*x',
      '<<: *x',
      '!!js/function ',
      '{',
      '}',
      '[',
      ']',
      '|',
      '"',
      '__proto__: ',
      '---',
      '#',
      '!!binary ',
      'kind: Role',
    );
    const warnings: unknown[] = [];
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(warning));
    check(yaml, (text) => {
      try {
        parseManifest('Role', text);
      } catch (error) {
        expect(error).not.toBeInstanceOf(TypeError);
        expect(error).not.toBeInstanceOf(RangeError);
      }
      isUnpolluted();
    });
    warn.mockRestore();
    // A warning would print a part of the file.
    expect(warnings).toEqual([]);
  });

  it('as the record of a stored result is a record, or damaged', () => {
    check(
      fc.oneof(
        fc.string(),
        json.map((value) => JSON.stringify(value)),
      ),
      (text) => {
        attempt(() => recordFromJson(text), [QueryError]);
      },
    );
    const stored = { version: 1, ...NUMBERS, requestId: '', brokerId: '', owner: '', dataSchema: '{}', ...LISTS };
    const any = fc.constantFrom(-1, 0, 1, 0.5, 2 ** 53, 2 ** 40, '1', null, [null], ['a']);
    check(fc.tuple(fc.constantFrom(...Object.keys(stored)), any), ([name, value]) => {
      const record = attempt(() => recordFromJson(JSON.stringify({ ...stored, [name]: value })), [QueryError]);
      if (record === undefined) return;
      // What is computed with: ranges of bytes, and the rights that are checked.
      for (const number of Object.keys(NUMBERS))
        expect(record[number as 'stride']).toBeGreaterThanOrEqual(number === 'stride' ? 1 : 0);
      for (const table of record.tables) expect(typeof table).toBe('string');
      expect(indexBytes(record)).toBeLessThan(1024 * 1024);
    });
  });

  it('as nested aliases in YAML ends, instead of using all memory', () => {
    const levels = Array.from(
      { length: 30 },
      (_, n) => `a${n + 1}: &a${n + 1} [${Array(10).fill(`*a${n}`).join(',')}]`,
    );
    expect(() => parseManifest('Role', ['a0: &a0 x', ...levels].join('\n'))).toThrow(/./);
  });
});

import { describe, expect, it } from 'vitest';
import { PlainCopy } from '../../../src/platform/plain-copy.ts';
import { asError, errorMessage, plainError } from '../../../src/platform/plain-error.ts';
import { gaxiosError, HOSTILE_ERRORS } from '../../support/hostile-errors.ts';

const KB = 1024;

describe.each(Object.entries(HOSTILE_ERRORS))('%s', (_name, make) => {
  it('is data with a message, of limited size', () => {
    const thrown = make();
    const begin = performance.now();
    const text = JSON.stringify(plainError(thrown));
    expect(performance.now() - begin).toBeLessThan(2000);
    expect(text.length).toBeLessThan(600 * KB);
    expect(JSON.parse(text)).toMatchObject({ type: expect.any(String), message: expect.any(String) });
  });

  it('has a text', () => {
    const text = errorMessage(make());
    expect(text).not.toBe('');
    expect(text.length).toBeLessThan(9 * KB);
  });

  it('is handled as an error whose fields can be read', () => {
    const error = asError(make());
    expect(error).toBeInstanceOf(Error);
    expect(`${error.name} ${error.message} ${error.stack}`).not.toBe('');
  });

  it('is one field of a record', () => {
    const thrown = make();
    const record = new PlainCopy().fields({ name: 'kept', err: thrown, nested: { list: [thrown] } });
    expect(JSON.parse(JSON.stringify(record))).toMatchObject({ err: { type: expect.any(String) }, name: 'kept' });
  });
});

const hostile = (name: string) => HOSTILE_ERRORS[name] as () => unknown;
const NAMED: readonly (readonly [string, () => unknown, object])[] = [
  ['an error of AWS', hostile('an S3ServiceException'), { name: 'SlowDown', message: 'slow', status: 503 }],
  ['an error of Google', () => gaxiosError(403), { type: 'GaxiosError', message: 'status 403', status: 403 }],
  ['an error of Kubernetes', hostile('an ApiException'), { type: 'ApiException', code: 500 }],
  ['undefined', () => undefined, { type: 'undefined', message: 'undefined' }],
  ['an object', () => ({ reason: 'full', left: 0 }), { type: 'object', message: '{"reason":"full","left":0}' }],
];
it.each(NAMED)('says the class, the code and the status of %s', (_name, make, fields) => {
  expect(plainError(make())).toMatchObject(fields);
});

it('has the causes and the stack of an error', () => {
  const cause = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
  const plain = plainError(new TypeError('failed', { cause }));
  expect(plain).toMatchObject({
    type: 'TypeError',
    message: 'failed',
    cause: { type: 'Error', message: 'connection refused', code: 'ECONNREFUSED' },
  });
  expect(plain.stack).toContain('plain-error.test.ts');
});

it('has the frames of an error with a long message', () => {
  expect(plainError(new Error('long '.repeat(100_000))).stack).toContain('plain-error.test.ts');
});

it('says how many errors of an AggregateError are left out', () => {
  const many = new AggregateError(Array.from({ length: 25 }, (_, index) => new Error(`error ${index}`)));
  expect(plainError(many).errors).toHaveLength(11);
  expect(plainError(many).errors?.at(-1)).toBe('[15 more errors]');
});

it('has no credential in messages, names, causes and fields', () => {
  const token = `svc-${'a'.repeat(16)}-${'b'.repeat(32)}`;
  const error = new Error(`refused ${token}`, { cause: token });
  error.name = token;
  const copy = new PlainCopy().fields({ err: error, a: { b: { c: { Authorization: 'Basic eA==' } } } });
  const text = JSON.stringify(copy);
  expect(text).not.toContain('b'.repeat(32));
  expect(text).not.toContain('Basic');
});

it('a credential that the limit cuts is left out as a whole', () => {
  const token = `svc-${'a'.repeat(16)}-${'b'.repeat(32)}`;
  for (let before = 8 * KB - token.length - 2; before <= 8 * KB + 2; before++)
    expect(errorMessage(new Error(`${' '.repeat(before)}${token}`))).not.toMatch(/b{2}/);
});

it('the text of an error without a message is its code or its type', () => {
  expect(errorMessage(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }))).toBe('ECONNREFUSED');
  expect(errorMessage(new RangeError())).toBe('RangeError');
});

it('an error that can be read is handled as it is', () => {
  for (const error of [new TypeError('x'), hostile('an error of fastify')(), hostile('a GaxiosError')()])
    expect(asError(error)).toBe(error);
});

it('values of records are as JSON has them, and what is left out is marked', () => {
  const date = new Date(0);
  const record = { date, url: new URL('http://x.test/'), bytes: Buffer.alloc(5), none: undefined, big: 5n };
  expect(JSON.parse(JSON.stringify(new PlainCopy().fields(record)))).toEqual({
    date: '1970-01-01T00:00:00.000Z',
    url: 'http://x.test/',
    bytes: '[5 bytes]',
    big: '5',
  });
  expect(JSON.stringify(new PlainCopy().fields({ many: Array(100_000).fill(0) }))).toContain('[more was left out]');
});

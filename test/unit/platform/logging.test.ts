import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/platform/logging.ts';
import { HOSTILE_ERRORS } from '../../support/hostile-errors.ts';

interface Line {
  readonly level: string;
  readonly msg?: string;
  readonly err?: { readonly type: string; readonly message: string };
  readonly [field: string]: unknown;
}

function logTo(): { log: ReturnType<typeof createLogger>; lines: Line[] } {
  const lines: Line[] = [];
  const write = (text: string): void => void lines.push(JSON.parse(text) as Line);
  return { log: createLogger('debug', { write }), lines };
}

describe.each(Object.entries(HOSTILE_ERRORS))('a log line about %s', (_name, make) => {
  it('is written with its type and message as the field `err`', () => {
    const { log, lines } = logTo();
    log.error({ err: make(), part: 'x' }, 'it failed');
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'error',
        msg: 'it failed',
        part: 'x',
        err: expect.objectContaining({ type: expect.any(String), message: expect.any(String) }),
      }),
    ]);
  });

  it(
    'is written where it is the subject, the message, a value of the message or another field',
    { tags: 'slow' },
    () => {
      const { log, lines } = logTo();
      log.warn(make());
      log.warn(make(), 'subject');
      log.warn({ a: 1 }, make() as string);
      log.warn('message %s %o', make() as string, make() as object);
      log.warn({ field: make(), fields: { deeper: [make()] } }, 'field');
      log.child({ bound: make() }).info('child');
      expect(lines).toHaveLength(6);
      expect(lines.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['field', 'child']));
    },
  );
});

it('a record that cannot be written is reported in a line', () => {
  const { log, lines } = logTo();
  const serializers = {
    part: () => {
      throw new Error('a serializer fails');
    },
  };
  log.child({}, { serializers }).info({ part: 1 }, 'lost');
  log.child({ part: 1 }, { serializers }).info('kept');
  expect(lines).toMatchObject([
    { msg: 'a record could not be written to the log', err: { message: 'a serializer fails' } },
    { msg: 'fields of a logger could not be written to the log', err: { message: 'a serializer fails' } },
    { msg: 'kept' },
  ]);
});

it('a destination that fails does not stop the program', () => {
  const log = createLogger('info', {
    write: () => {
      throw new Error('ENOSPC');
    },
  });
  expect(() => log.info('not written')).not.toThrow();
});

it('an error as the subject is the field `err`, with its message as that of the line', () => {
  const { log, lines } = logTo();
  log.error(new TypeError('it failed'));
  expect(lines).toMatchObject([{ msg: 'it failed', err: { type: 'TypeError', message: 'it failed' } }]);
});

it('fields that could hold a credential are redacted at any depth', () => {
  const { log, lines } = logTo();
  log.child({ token: 'one' }).info({ headers: { authorization: 'two', deeper: { Cookie: 'three' } } }, 'x');
  expect(lines).toMatchObject([
    { token: '[redacted]', headers: { authorization: '[redacted]', deeper: { Cookie: '[redacted]' } } },
  ]);
});

import { describe, expect, it } from 'vitest';
import { requireFuture } from '../../../src/access/manager/expiry.ts';
import { activeMutes, nextMuteChange } from '../../../src/health/report/mutes.ts';
import { endOf, isTime, parseTime } from '../../../src/resources/time.ts';

const NOW = Date.parse('2030-02-01T00:00:00Z');

// JavaScript reads all of these as times after NOW; the API server and CEL read none of them, or another one.
describe.each([
  '2030-02-30T00:00:00Z',
  '2030-02-20',
  '2030-02-20T00:00',
  '2030-02-20T24:00:00Z',
  '2030-02-20T00:00:00',
  '20 Feb 2030 00:00:00 GMT',
  '+002030-02-20T00:00:00Z',
])('the text %s', (text) => {
  it('is a time for JavaScript, and for no reader here', () => {
    expect(Date.parse(text)).toBeGreaterThan(NOW);
    expect([isTime(text), parseTime(text), endOf(text)]).toEqual([false, undefined, -Infinity]);
  });

  it('is the end of no mute and of no assignment', () => {
    const mutes = [{ id: 'm', check: 'TABLE*', entity: 'x', until: text, createdBy: 'ada', reason: 'r' }];
    expect(activeMutes(mutes as never, NOW)).toEqual([]);
    expect(nextMuteChange(mutes as never, NOW)).toBe(Infinity);
    expect(() => requireFuture(text, NOW)).toThrow('must be in the future');
  });
});

it('an expiry that is absent never ends', () => {
  expect(endOf(undefined)).toBe(Infinity);
});

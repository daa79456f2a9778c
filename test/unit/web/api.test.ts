import { afterEach, describe, expect, it, vi } from 'vitest';
import { call, callTagged } from '../../../web/src/lib/api.ts';
import { errorMessage } from '../../../src/platform/plain-error.ts';

/** The message of a call that gets this response. */
async function messageFor(response: Response, read: (path: string) => Promise<unknown> = call): Promise<string> {
  vi.stubGlobal('fetch', () => Promise.resolve(response));
  return read('/tables').then(
    () => 'no error',
    (error: unknown) => errorMessage(error),
  );
}

afterEach(() => {
  vi.unstubAllGlobals();
});

const PAGE = '<html><head><title>502</title></head><body><h1>Bad   Gateway</h1>nginx</body></html>';
const json = (status: number, body: object, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers });

describe('the message of a failed call', () => {
  it('is that of the Error body', async () => {
    expect(await messageFor(json(403, { message: 'the action `Query` is not allowed' }))).toBe(
      'the action `Query` is not allowed',
    );
  });

  it.each([429, 503])('of a %i says when to try again', async (status) => {
    const response = json(status, { message: 'too many requests' }, { 'retry-after': '7' });
    expect(await messageFor(response)).toBe('too many requests. Try again in 7 s.');
  });

  it('does not say twice when to try again', async () => {
    const response = json(429, { message: 'too many sign-ins: try again in 30 s' }, { 'retry-after': '30' });
    expect(await messageFor(response)).toBe('too many sign-ins: try again in 30 s');
  });

  it('says that an error page is from a proxy, without its tags', async () => {
    const response = new Response(PAGE, { status: 502, statusText: 'Bad Gateway' });
    expect(await messageFor(response)).toBe(
      'The response 502 Bad Gateway is not an error of the gateway: it is probably from a proxy before the gateway. It says: 502 Bad Gateway nginx',
    );
  });

  it.each([
    ['a resource', (path: string) => call(path)],
    ['a resource with its version', (path: string) => callTagged(path)],
  ])('says that a 200 for %s is not JSON', async (_what, read) => {
    expect(await messageFor(new Response(PAGE), read)).toMatch(
      /^The response is not JSON: it is probably from a proxy before the gateway\. It says: 502 Bad Gateway/,
    );
  });
});

import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { formatBearerToken, generateTokenKeys, type TokenKeys } from '../../../src/access/service-token.ts';
import { withoutCredentials } from '../../../src/platform/credentials-in-text.ts';
import { createLogger } from '../../../src/platform/logging.ts';
import { seeded } from '../../support/seed.ts';

const random = seeded();
const newKeys = (): TokenKeys => generateTokenKeys((size) => random.bytes(size));
const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl';

it('a service token keeps only its access key', () => {
  const keys = newKeys();
  const text = withoutCredentials(`GET /roles/srn2:role#${formatBearerToken(keys)}?x`);
  expect(text).toBe(`GET /roles/srn2:role#svc-${keys.accessKey}-[redacted]?x`);
});

it('a JSON Web Token is removed', () => {
  expect(withoutCredentials(`{"subject":"${JWT}"}`)).toBe('{"subject":"[redacted]"}');
});

it('a JSON Web Token after a percent-encoded character of a path is removed', () => {
  expect(withoutCredentials(`GET /roles/srn2:role%23${JWT}`)).toBe('GET /roles/srn2:role%23[redacted]');
});

it('the token of the first administrator of standalone is removed', () => {
  const token = `adm-${random.bytes(32).toString('base64url')}`;
  expect(withoutCredentials(`GET /query/${token}/results`)).toBe('GET /query/adm-[redacted]/results');
});

it('log records contain neither', () => {
  let log = '';
  const sink = new Writable({ write: (chunk, _encoding, done) => ((log += String(chunk)), done()) });
  const keys = newKeys();
  createLogger('info', sink).info({ path: `/roles/${formatBearerToken(keys)}` }, `unknown subject ${JWT}`);
  expect(log).toContain('unknown subject [redacted]');
  expect(log).not.toContain(keys.secretKey);
});

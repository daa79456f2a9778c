import { describe, expect, it } from 'vitest';
import { hashMigration } from '../../../../src/access/authenticators/hash-migration.ts';
import { serviceToken, stored, withHashes } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryStore } from '../memory-store.ts';

const ACCESS_KEY = 'a'.repeat(16);
const old = serviceToken('old', {}, stored(), (token) => ({ ...token, status: { accessKey: ACCESS_KEY } }));

describe('a gateway that has just started', () => {
  it('waits until the tokens of version 0.1 have their hashes, once', () => {
    const store = new MemoryStore();
    store.seed(old, serviceToken('without-token', {}, stored()));
    const reason = hashMigration(store, new FakeClock());
    expect(reason()).toBe('the operator has not yet moved the hashes of 1 service tokens into their status');
    store.seed(withHashes({ accessKey: ACCESS_KEY })(old));
    expect(reason()).toBeUndefined();
    store.seed(old);
    expect(reason()).toBeUndefined();
  });

  it('waits no longer than two minutes', async () => {
    const store = new MemoryStore();
    store.seed(old);
    const clock = new FakeClock();
    await clock.advance(5000);
    const reason = hashMigration(store, clock);
    await clock.advance(119_999);
    expect(reason()).toBeDefined();
    await clock.advance(1);
    expect(reason()).toBeUndefined();
  });
});

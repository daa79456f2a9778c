import { describe, expect, it } from 'vitest';
import { KubernetesAuthenticator } from '../../../src/access/authenticators/kubernetes.ts';
import { hashToken, TokenFileAuthenticator } from '../../../src/access/authenticators/token-file.ts';
import { FailedAttempts } from '../../../src/api/server/authentication/failed-attempts.ts';
import { LeaderElector } from '../../../src/operator/leader/leader.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakeLeases } from '../operator/leader/fake-leases.ts';
import { silent } from '../operator/fakes.ts';

// Steps of the wall clock by an hour and a day, forward and back: what lasts a time lasts as long as without them.

const HOUR_MS = 3_600_000;
const STEPS_MS = [-24 * HOUR_MS, -HOUR_MS, HOUR_MS, 24 * HOUR_MS];
const bearer = (token: string) => ({ scheme: 'bearer', token }) as const;

describe.each(STEPS_MS)('after a step of the wall clock by %d ms', (step) => {
  it('an address is limited as long as its window lasts', () => {
    const clock = new FakeClock();
    const attempts = new FailedAttempts({ limit: 2, windowMs: 60_000, clock });
    const attempt = { address: '192.0.2.1' };
    attempts.failed(attempt);
    attempts.failed(attempt);
    clock.step(step);
    expect(attempts.retryAfterSeconds(attempt)).toBe(60);
    clock.jump(60_000);
    expect(attempts.retryAfterSeconds(attempt)).toBe(0);
  });

  it('a token that Kubernetes revoked is not accepted for longer than its cached review', async () => {
    const clock = new FakeClock();
    let isValid = true;
    const authenticator = new KubernetesAuthenticator({
      audiences: [],
      clock,
      review: async () => ({ authenticated: isValid, user: { username: 'ada@example.com' } }),
    });
    expect(await authenticator.authenticate(bearer('token'))).toMatchObject({ outcome: 'authenticated' });
    isValid = false;
    clock.step(step);
    clock.jump(60_000);
    expect(await authenticator.authenticate(bearer('token'))).toMatchObject({ outcome: 'rejected' });
  });

  it('a token that was removed from the token file is rejected after the next reading', async () => {
    const clock = new FakeClock();
    let content = JSON.stringify({ sha256: hashToken('token'), user: 'ada@example.com' });
    const file = await TokenFileAuthenticator.open({ read: async () => content, clock, onProblem: () => undefined });
    expect(await file.authenticate(bearer('token'))).toMatchObject({ outcome: 'authenticated' });
    content = JSON.stringify({ sha256: hashToken('another'), user: 'ada@example.com' });
    clock.step(step);
    clock.jump(60_000);
    expect(await file.authenticate(bearer('token'))).toMatchObject({ outcome: 'not-mine' });
  });

  it('there is one leader', async () => {
    const [clock, leases] = [new FakeClock(), new FakeLeases()];
    const other = new FakeClock();
    const electors = [clock, other].map((time, at) => {
      const lead = async (signal: AbortSignal): Promise<void> => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      };
      return new LeaderElector({ leases, identity: `operator-${at}`, clock: time, log: silent, lead });
    });
    const leaders = (): number => electors.filter((elector) => elector.isLeader()).length;
    electors[0]?.start();
    await settle();
    electors[1]?.start();
    await settle();
    expect(leaders()).toBe(1);
    // The step is seen by one of the nodes only.
    clock.step(step);
    let most = 0;
    let last = 0;
    for (let second = 0; second < 60; second++) {
      await Promise.all([clock.advance(1_000), other.advance(1_000)]);
      last = leaders();
      most = Math.max(most, last);
    }
    expect([most, last]).toEqual([1, 1]);
    for (const elector of electors) await elector.stop();
  });
});

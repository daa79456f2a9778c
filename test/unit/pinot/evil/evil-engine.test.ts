// @module-tag slow
import { describe, expect, it } from 'vitest';
import { createEngine } from '../../../../src/pinot/connection.ts';
import type { Engine } from '../../../../src/pinot/types.ts';
import { EvilEngine, type Moment, ownAnswer, type Play, send } from './evil-engine.ts';
import { BODIES } from './bodies.ts';
import { HEADS } from './heads.ts';
import type { Outcome, Scenario } from './scenario.ts';
import { EXTRAS, STAGES } from './stages.ts';
import { type Seen, type Way, WAYS } from './ways.ts';
import { once } from '../../../support/once.ts';

interface Parties {
  readonly server: EvilEngine;
  readonly engine: Engine;
}

/** Runs a test with a single connection, so that each later request would reuse the misbehaving one if it stayed open. */
async function withEvil(
  play: Play,
  moment: Moment | undefined,
  test: (parties: Parties) => Promise<void>,
): Promise<void> {
  const server = await new EvilEngine(play, moment).listen();
  const engine = createEngine({ controllerUrls: [server.url], limits: { connections: 1 } });
  try {
    await test({ server, engine });
  } finally {
    await engine.close();
    server.close();
  }
}

const wayNames = Object.keys(WAYS);
const wayOf = (name: string): Way => WAYS[name] as Way;

async function expectOwnAnswers(way: Way, { engine }: Parties): Promise<void> {
  for (const path of ['/next-1', '/next-2', '/next-3']) {
    const { body } = await way(engine.controller, { method: 'POST', path, body: '{}', repeatable: true });
    expect(body).toBe(`own answer of ${path}`);
  }
}

function expectOutcome(seen: Seen, outcome: Outcome): void {
  if ('body' in outcome) expect(seen).toEqual({ status: outcome.status, body: outcome.body });
  else if ('upTo' in outcome) {
    expect(seen).toMatchObject({ status: outcome.status, error: outcome.error });
    expect(outcome.upTo.startsWith(seen.body)).toBe(true);
  } else expect(seen).toEqual({ body: '', error: outcome.error });
}

async function run(scenario: Scenario, way: Way): Promise<void> {
  await withEvil(scenario.play, scenario.moment, async (parties) => {
    const request = { method: 'POST', path: '/evil', body: '{}', ...scenario.request?.() };
    expectOutcome(await way(parties.engine.controller, request), scenario.sees);
    await expectOwnAnswers(way, parties);
    expect(parties.server.asked.length).toBeLessThanOrEqual(1);
  });
}

describe.each(wayNames)('an evil engine, called by %s', (name) => {
  describe('with a head', () => {
    it.concurrent.each(HEADS)('$name', (scenario) => run(scenario, wayOf(name)));
  });
  describe('with a body', () => {
    it.concurrent.each(BODIES)('$name', (scenario) => run(scenario, wayOf(name)));
  });
  describe('with a connection', () => {
    it.concurrent.each(STAGES)('$name', (scenario) => run(scenario, wayOf(name)));
  });

  describe('with more than was requested', () => {
    const first = ownAnswer('/evil');
    const ask = async ({ engine }: Parties): Promise<void> => {
      const seen = await wayOf(name)(engine.controller, { method: 'POST', path: '/evil', body: '{}' });
      expect(seen).toEqual({ status: 200, body: 'own answer of /evil' });
    };

    it.concurrent.each(EXTRAS)('%s, together with the response', async (_extra, bytes, ends) => {
      const play: Play = async (socket) => {
        await send(first + bytes)(socket);
        if (ends) socket.end();
      };
      await withEvil(play, undefined, async (parties) => {
        await ask(parties);
        await expectOwnAnswers(wayOf(name), parties);
      });
    });

    it.concurrent.each(EXTRAS)('%s, on the idle connection', async (_extra, bytes, ends) => {
      await withEvil(send(first), undefined, async (parties) => {
        await ask(parties);
        const { socket } = parties.server;
        const closed = once(socket, 'close');
        socket.write(Buffer.from(bytes, 'latin1'));
        if (ends) socket.end();
        // The client closes it without a further request.
        await closed;
        await expectOwnAnswers(wayOf(name), parties);
        expect(parties.server.sockets.length).toBeGreaterThan(1);
      });
    });

    it.concurrent.each(EXTRAS)('%s, unread when the next request comes', async (_extra, bytes, ends) => {
      await withEvil(send(first), undefined, async (parties) => {
        await ask(parties);
        const { socket } = parties.server;
        await new Promise<void>((resolve) => {
          socket.write(Buffer.from(bytes, 'latin1'), () => resolve());
        });
        if (ends) socket.end();
        await expectOwnAnswers(wayOf(name), parties);
      });
    });
  });
});

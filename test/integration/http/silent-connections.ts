import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayProcess } from '../../support/gateway-process.ts';
import { RawClient } from '../../support/raw-client.ts';
import {
  type AnswerPlan,
  authorized,
  differences,
  failure,
  FRAMINGS,
  KB,
  MB,
  nextMarker,
  type Way,
  WAYS,
} from './answers.ts';

interface Silence {
  readonly way: Way;
  readonly plan: AnswerPlan;
  readonly ms: number;
}

const SMALL: AnswerPlan = { bytes: 200, framing: 'length' };

async function afterSilence(gateway: GatewayProcess, { way, plan, ms }: Silence): Promise<string[]> {
  const connection = await RawClient.open(gateway.port);
  const wrong: string[] = [];
  const ask = async (asked: AnswerPlan) => {
    const marker = nextMarker(asked);
    try {
      wrong.push(...differences(marker, await connection.request(authorized(gateway, way.request(marker)))));
    } catch (error) {
      wrong.push(...failure(marker, error));
    }
  };
  await ask(SMALL);
  // The tested time: no data on the connection, for longer than servers and pools keep idle connections.
  await sleep(ms);
  for (const next of [plan, SMALL, plan]) if (wrong.length === 0) await ask(next);
  if (connection.unread > 0) wrong.push(`${connection.unread} bytes after the last answer`);
  connection.destroy();
  return wrong.map((text) => `${way.name}, ${ms} ms: ${text}`);
}

/**
 * Connections that are idle for 6, 10 and 40 seconds, by every route, in parallel.
 * @returns all differences in the responses after it
 */
export async function silentConnections(gateway: GatewayProcess): Promise<string[]> {
  const asked: Promise<string[]>[] = [];
  for (const ms of [6_000, 10_000, 40_000]) {
    for (const way of WAYS) {
      for (const framing of FRAMINGS) {
        for (const bytes of [65 * KB, MB]) asked.push(afterSilence(gateway, { way, plan: { bytes, framing }, ms }));
      }
    }
  }
  return (await Promise.all(asked)).flat();
}

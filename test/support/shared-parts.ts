import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import type { ControlPlaneDescription } from './control-plane.ts';
import type { PinotDescription } from './pinot.ts';

/** Descriptions of the shared real parts of a run. */
export interface SharedParts {
  readonly pinot: PinotDescription;
  readonly controlPlane: ControlPlaneDescription;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the global set-up hands out the shared parts: `GET /<name>/<worker>` starts one on the first call and describes it. */
    sharedParts: string;
  }
}

/**
 * Requests a part from the global set-up. Files that run at the same time get different ones, because tests stop brokers and count calls.
 * Its start may take minutes on a new machine, so only the time-out of the test applies.
 */
export async function sharedPart<K extends keyof SharedParts>(name: K): Promise<SharedParts[K]> {
  const answer = await get(`${inject('sharedParts')}/${name}/${process.env['VITEST_POOL_ID']}`);
  if (answer.status !== 200) throw new Error(`the shared ${name} did not start: ${answer.body}`);
  return JSON.parse(answer.body) as SharedParts[K];
}

function get(url: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    request(url, { agent: false }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
    })
      .once('error', reject)
      .end();
  });
}

import type { EngineRequest } from '../../../../src/pinot/types.ts';
import { type Moment, type Play, send } from './evil-engine.ts';

/** What the caller gets: a response, an error, or a response that ends early after some of these bytes. */
export type Outcome =
  | { readonly status: number; readonly body: string }
  | { readonly error: string }
  | { readonly status: number; readonly upTo: string; readonly error: string };

export interface Scenario {
  readonly name: string;
  readonly play: Play;
  readonly moment?: Moment;
  readonly request?: () => Partial<EngineRequest>;
  readonly sees: Outcome;
}

/** The status line of a response. */
export const OK = 'HTTP/1.1 200 OK\r\n';
export const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
export const length = (bytes: number | string): string => `${OK}Content-Length: ${bytes}\r\n\r\n`;
export const whole = (body: string, status = 200): Outcome => ({ status, body });
export const BAD: Outcome = { error: 'bad-response' };
export const GONE: Outcome = { error: 'unreachable' };
export const broken = (upTo: string, error = 'bad-response'): Outcome => ({ status: 200, upTo, error });
export const slow = (): Partial<EngineRequest> => ({ headersTimeoutMs: 150 });

export const drip: Play = async (socket) => {
  for (const byte of `${length(5)}slow!`) {
    await send(byte)(socket);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};

import { EngineError, type EngineEndpoint, type EngineResponse } from '../../../pinot/types.ts';

export interface ControllerCall {
  /** Name of the endpoint for metrics; one of a fixed set. */
  readonly name: string;
  readonly endpoint: EngineEndpoint;
  readonly path: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Time until the response begins, and between its parts. */
  readonly timeoutMs?: number;
  /** Whether a call without a response is made again. False by default for time-outs of more than 20 s. */
  readonly retryHanging?: boolean;
  /** Waiting calls with a lower number start first; 0 by default. */
  readonly priority?: number;
  /** False for calls to instances: slots limit the load of the controller and the brokers. */
  readonly usesSlot?: boolean;
}

export interface CallResponse {
  readonly status: number;
  readonly headers: EngineResponse['headers'];
  readonly body: string;
}

/** The engine responded with an error status. */
export class StatusError extends Error {
  readonly status: number;
  /** Whether a controller sent it: a proxy may have no route to a path. */
  readonly fromController: boolean;
  constructor(status: number, message: string, fromController = false) {
    super(message);
    this.name = 'StatusError';
    this.status = status;
    this.fromController = fromController;
  }
}

/** Whether the headers are those of a controller: all of its responses have its version. */
export function isOfController(headers: CallResponse['headers']): boolean {
  return headers['pinot-controller-version'] !== undefined;
}

/** A part cannot be read because of a fault that a check reports. */
export class ReportedError extends Error {
  readonly check: string;
  constructor(message: string, check: string) {
    super(message);
    this.name = 'ReportedError';
    this.check = check;
  }
}

/** @param response one with an error status @returns an error that names the call, with the engine's message */
export function statusError(call: ControllerCall, { status, headers, body }: CallResponse): StatusError {
  const message = `${titleOf(call)} responded with ${status}${errorText(body)}`;
  return new StatusError(status, message, isOfController(headers));
}

/** `GET /tables/events/size`, in backticks; with the path of a node in ZooKeeper. */
export function titleOf({ method = 'GET', path }: ControllerCall): string {
  const [, node] = /[?&]path=([^&]*)/u.exec(path) ?? [];
  const name = path.split('?')[0] ?? '';
  return `\`${method} ${name}${node === undefined ? '' : `?path=${decodeURIComponent(node)}`}\``;
}

export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new EngineError('bad-response', `the response is not JSON: \`${body.slice(0, 80)}\``, { cause: error });
  }
}

/** The message of the engine's error body, truncated. */
function errorText(body: string): string {
  const match = /"(?:error|message)"\s*:\s*"((?:[^"\\]|\\.)*)"/u.exec(body);
  const message = match?.[1] ?? '';
  return message === '' ? '' : `: ${message.slice(0, 200)}`;
}

import type { FastifyBaseLogger } from 'fastify';

type MakeChild = FastifyBaseLogger['child'];
type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
type Parts = [subject: unknown, message?: string, ...values: unknown[]];

/** Request logger that creates the pino child on first use: most requests log only their access record. */
export class RequestLog {
  readonly #parent: FastifyBaseLogger;
  readonly #bindings: Parameters<MakeChild>[0];
  readonly #options: Parameters<MakeChild>[1];
  #made: FastifyBaseLogger | undefined;

  constructor(parent: FastifyBaseLogger, bindings: Parameters<MakeChild>[0], options: Parameters<MakeChild>[1]) {
    this.#parent = parent;
    this.#bindings = bindings;
    this.#options = options;
  }

  get level(): string {
    return this.#log.level;
  }

  set level(level: string) {
    this.#log.level = level;
  }

  fatal(...parts: Parts): void {
    this.#write('fatal', parts);
  }

  error(...parts: Parts): void {
    this.#write('error', parts);
  }

  warn(...parts: Parts): void {
    this.#write('warn', parts);
  }

  info(...parts: Parts): void {
    this.#write('info', parts);
  }

  debug(...parts: Parts): void {
    this.#write('debug', parts);
  }

  trace(...parts: Parts): void {
    this.#write('trace', parts);
  }

  silent(...parts: Parts): void {
    this.#write('silent', parts);
  }

  child(...options: Parameters<MakeChild>): FastifyBaseLogger {
    return this.#log.child(...options);
  }

  get #log(): FastifyBaseLogger {
    this.#made ??= this.#parent.child(this.#bindings, this.#options);
    return this.#made;
  }

  #write(level: Level, parts: Parts): void {
    this.#log[level](...parts);
  }
}

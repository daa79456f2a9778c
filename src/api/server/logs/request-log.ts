import type { FastifyBaseLogger } from 'fastify';

type MakeRequestLog = FastifyBaseLogger['child'];
type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
type LogArguments = [subject: unknown, message?: string, ...values: unknown[]];

/** Request logger that creates the pino child on first use: most requests log only their access record. */
export class RequestLog {
  readonly #parent: FastifyBaseLogger;
  readonly #bindings: Parameters<MakeRequestLog>[0];
  readonly #options: Parameters<MakeRequestLog>[1];
  #made: FastifyBaseLogger | undefined;

  constructor(
    parent: FastifyBaseLogger,
    bindings: Parameters<MakeRequestLog>[0],
    options: Parameters<MakeRequestLog>[1],
  ) {
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

  fatal(...parts: LogArguments): void {
    this.#write('fatal', parts);
  }

  error(...parts: LogArguments): void {
    this.#write('error', parts);
  }

  warn(...parts: LogArguments): void {
    this.#write('warn', parts);
  }

  info(...parts: LogArguments): void {
    this.#write('info', parts);
  }

  debug(...parts: LogArguments): void {
    this.#write('debug', parts);
  }

  trace(...parts: LogArguments): void {
    this.#write('trace', parts);
  }

  silent(...parts: LogArguments): void {
    this.#write('silent', parts);
  }

  child(...options: Parameters<MakeRequestLog>): FastifyBaseLogger {
    return this.#log.child(...options);
  }

  get #log(): FastifyBaseLogger {
    this.#made ??= this.#parent.child(this.#bindings, this.#options);
    return this.#made;
  }

  #write(level: Level, parts: LogArguments): void {
    this.#log[level](...parts);
  }
}

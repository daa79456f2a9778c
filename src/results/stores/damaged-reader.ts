import type { QueryError } from '../errors.ts';
import type { ResultReader, ResultRecord } from '../result-store.ts';

/** A result whose rows cannot be read. Its record tells who may learn why. */
export class DamagedReader implements ResultReader {
  readonly record: ResultRecord;
  readonly damage: QueryError;
  readonly knownIndex = undefined;

  constructor(record: ResultRecord, damage: QueryError) {
    this.record = record;
    this.damage = damage;
  }

  async index(): Promise<never> {
    throw this.damage;
  }

  async read(): Promise<never> {
    throw this.damage;
  }

  // eslint-disable-next-line require-yield
  async *stream(): AsyncIterable<Uint8Array> {
    throw this.damage;
  }

  async close(): Promise<void> {}
}

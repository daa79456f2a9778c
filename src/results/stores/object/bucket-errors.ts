import { QueryError } from '../../errors.ts';

/** Converts the errors of the SDK of a bucket. Its messages may contain bucket names and access key ids: they are logged and not sent to the caller. */
export class BucketErrors {
  readonly #store: string;
  readonly #isAbsent: (error: unknown) => boolean;

  /** @param isAbsent whether the error says that the object does not exist */
  constructor(store: string, isAbsent: (error: unknown) => boolean) {
    this.#store = store;
    this.#isAbsent = isAbsent;
  }

  /** Settles as the call. @throws {QueryError} store-unavailable, or the QueryError of the call */
  async mapped<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      throw this.unavailable(error);
    }
  }

  /** Does what `mapped` does; undefined for an absent object. */
  async mappedIfPresent<T>(call: Promise<T>): Promise<T | undefined> {
    return this.mapped(call.catch((error: unknown) => (this.#isAbsent(error) ? undefined : Promise.reject(error))));
  }

  unavailable(error: unknown): QueryError {
    if (error instanceof QueryError) return error;
    const message = `${this.#store} result store failed or timed out; see the log of the gateway`;
    return new QueryError('store-unavailable', message, { cause: error });
  }
}

import { StoreError, type StoreErrorCode } from '../store/resource-store.ts';
import { readableText, type MayDo, type ReadableText, type ReadRight } from './readable-text.ts';

/** An error of the manager itself, with the error codes of the store. Its `message` is complete, for the audit log. */
export class ManagerError extends StoreError {
  readonly #text: string | ReadableText;

  constructor(code: StoreErrorCode, text: string | ReadableText) {
    super(code, text.toString());
    this.name = 'ManagerError';
    this.#text = text;
  }

  /** The message for a caller with these rights. */
  shownTo(may: MayDo): string {
    return typeof this.#text === 'string' ? this.#text : this.#text.shownTo(may);
  }
}

export function isStoreError(error: unknown, code: StoreErrorCode): boolean {
  return error instanceof StoreError && error.code === code;
}

/** The object has another version than the caller requires. */
export class PreconditionFailed extends ManagerError {
  /** The current resource version, and the right to read it. */
  readonly version: string;
  readonly right: ReadRight;

  /** @param what was changed since it was read, or exists already where `header` is If-None-Match */
  constructor(what: string, version: string, right: ReadRight, header: 'If-Match' | 'If-None-Match' = 'If-Match') {
    const current = { rights: [right], text: `, its current version is \`"${version}"\``, otherwise: '' };
    super(
      'conflict',
      header === 'If-Match'
        ? readableText`\`If-Match\`: ${what} was changed since it was read${current}: read it again and repeat the change`
        : readableText`\`If-None-Match\`: ${what} exists already${current}: send the request without this header to change it`,
    );
    this.name = 'PreconditionFailed';
    this.version = version;
    this.right = right;
  }
}

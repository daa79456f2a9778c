import { StoreError, type StoreErrorCode } from '../store/resource-store.ts';

/** An error of the manager itself, with the error codes of the store. */
export class ManagerError extends StoreError {
  constructor(code: StoreErrorCode, message: string) {
    super(code, message);
    this.name = 'ManagerError';
  }
}

export function isStoreError(error: unknown, code: StoreErrorCode): boolean {
  return error instanceof StoreError && error.code === code;
}

/** The object has another version than the caller requires. */
export class PreconditionFailed extends ManagerError {
  /** The current resource version. */
  readonly version: string;

  constructor(message: string, version: string) {
    super('conflict', message);
    this.name = 'PreconditionFailed';
    this.version = version;
  }
}

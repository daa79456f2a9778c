import { StoreError, type StoreErrorCode } from '../../store/resource-store.ts';

/** A refusal of the manager itself, in the classes of the store whose answers it passes on. */
export class ManagerError extends StoreError {
  constructor(code: StoreErrorCode, message: string) {
    super(code, message);
    this.name = 'ManagerError';
  }
}

export function isStoreError(error: unknown, code: StoreErrorCode): boolean {
  return error instanceof StoreError && error.code === code;
}

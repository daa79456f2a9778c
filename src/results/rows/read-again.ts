import { isDamaged } from '../errors.ts';
import type { ResultReader } from '../result-store.ts';

/**
 * Reads once more where what was read is damaged: a bit may have changed on its way, and the stored bytes be whole.
 * @throws as the second reading
 */
export async function readAgain<T>({ forget }: Pick<ResultReader, 'forget'>, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isDamaged(error)) throw error;
    forget?.();
    return read();
  }
}

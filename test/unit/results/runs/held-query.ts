import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import type { AsyncQuery, RunEnd, RunHandle } from '../../../../src/results/runs/run.ts';

export const OWNER = 'srn2:user#alice@example.com';

/** A query that the test ends. It ends by itself when it is aborted. */
export class HeldQuery implements AsyncQuery {
  readonly owner: string;
  readonly sql = 'SELECT 1';
  readonly tables = [tableNameOf('orders')];
  readonly heldBytes = 8;
  readonly cancelled: string[] = [];
  ended = 0;
  allowed = true;
  run: RunHandle | undefined;
  readonly #end = Promise.withResolvers<RunEnd>();

  constructor(owner = OWNER) {
    this.owner = owner;
  }

  isAllowed(): boolean {
    return this.allowed;
  }

  execute(run: RunHandle): Promise<RunEnd> {
    this.run = run;
    run.signal.addEventListener('abort', () =>
      this.#end.resolve({ kind: 'failed', status: 499, message: 'the client disconnected' }),
    );
    return this.#end.promise;
  }

  end(end: RunEnd): void {
    this.#end.resolve(end);
  }

  async cancelAtEngine(requestId: string): Promise<void> {
    this.cancelled.push(requestId);
  }

  onEnd(): void {
    this.ended++;
  }
}

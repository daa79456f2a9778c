import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Gathered } from '../../../../src/http/front/gathered.ts';

/** Takes its time, as a socket whose client reads slowly; as a socket it is done with a piece when it says so. */
class Slow extends Writable {
  got = '';

  override _write(piece: Buffer, _encoding: string, done: () => void): void {
    this.got += piece.toString('latin1');
    setImmediate(done);
  }
}

describe('small pieces on their way to a stream', () => {
  it.each([0, 1, 9, 10])('go out past it as far as that takes them, the rest through it: %i of 10', async (taken) => {
    const target = new Slow();
    const past: string[] = [];
    const done: (Error | null | undefined)[] = [];
    const gathered = new Gathered(target);
    gathered.text('head:');
    gathered.bytes(Buffer.from('bytes'));
    gathered.onceOut((error) => done.push(error));
    gathered.flushPast((bytes) => {
      past.push(Buffer.from(bytes.subarray(0, taken)).toString());
      return taken;
    });
    expect(done).toEqual([]);
    gathered.text('tail');
    gathered.flush();
    for (let i = 0; i < 4; i++) await turn();
    expect(done).toHaveLength(1);
    expect(past.join('') + target.got).toBe('head:bytestail');
  });

  it.each([
    ['a large one waits before them', (gathered: Gathered) => gathered.bytes(Buffer.alloc(100_000, 'a'))],
    [
      'the stream has something to send',
      (_gathered: Gathered, target: Slow) => void target.write(Buffer.alloc(100_000, 'a')),
    ],
  ])('stay behind what was there before: %s', async (_what, begin) => {
    const target = new Slow();
    const gathered = new Gathered(target);
    begin(gathered, target);
    gathered.text('small');
    let asked = 0;
    gathered.flushPast(() => ++asked);
    expect(asked).toBe(0);
    for (let i = 0; i < 4; i++) await turn();
    expect(target.got === `${'a'.repeat(100_000)}small`).toBe(true);
  });
});

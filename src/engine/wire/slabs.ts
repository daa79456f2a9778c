/** What one read takes off the wire at most: the more, the fewer times is the system asked for a large answer. */
const SLAB_BYTES = 256 * 1024;
/** Slabs that wait for their next use; more are left to the garbage collector. */
const MAX_FREE = 32;

/** Memory that answers are read into, used again and again: large buffers for each answer would keep the garbage collector busier than all else. */
export interface Slab {
  readonly bytes: Buffer;
  /** Pieces of it that somebody still needs, and the connection that reads into it. */
  users: number;
}

const slabs = new WeakMap<ArrayBufferLike, Slab>();
const free: Slab[] = [];

/** A slab with one user. */
export function takeSlab(): Slab {
  const known = free.pop();
  if (known !== undefined) {
    known.users = 1;
    return known;
  }
  const slab: Slab = { bytes: Buffer.allocUnsafeSlow(SLAB_BYTES), users: 1 };
  slabs.set(slab.bytes.buffer, slab);
  return slab;
}

/** One more user of the slab that a piece lies in; each gives it back by `releasePiece`. Who never does keeps its bytes, and they are not used again. */
export function retainPiece(piece: Uint8Array): void {
  const slab = slabs.get(piece.buffer);
  if (slab !== undefined) slab.users++;
}

/** Lets the bytes of a piece be written over. Does nothing for a piece that lies in no slab. */
export function releasePiece(piece: Uint8Array): void {
  const slab = slabs.get(piece.buffer);
  if (slab !== undefined && --slab.users === 0 && free.length < MAX_FREE) free.push(slab);
}

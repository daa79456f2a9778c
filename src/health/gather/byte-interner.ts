/**
 * Gives each distinct byte string a small number, without making a string of it.
 *
 * Segment and server names come by three or four times each in a run; a hash table over the bytes themselves costs a fraction of what the strings would.
 */
export class ByteInterner {
  #slots = new Int32Array(256).fill(-1);
  #hashes = new Int32Array(128);
  #offsets = new Int32Array(129);
  #store = Buffer.allocUnsafe(4096);
  #count = 0;
  /** By number: the name that came after it, the last time. */
  #next = new Int32Array(128).fill(-1);
  #last = 0;

  get size(): number {
    return this.#count;
  }

  /** The number of the name, the next free one where it is new. */
  intern(bytes: Buffer, start: number, end: number): number {
    const guess = this.#guess(bytes, start, end);
    if (guess >= 0) return guess;
    const hash = hashOf(bytes, start, end);
    const slot = this.#find(bytes, start, end, hash);
    const known = this.#slots[slot] as number;
    if (known >= 0) return this.#follow(known);
    const id = this.#count;
    this.#append(bytes, start, end, hash);
    this.#slots[slot] = id;
    if (this.#count * 2 > this.#slots.length) this.#grow();
    return this.#follow(id);
  }

  /** The number of the name; -1 where it was never interned. */
  lookup(bytes: Buffer, start: number, end: number): number {
    const guess = this.#guess(bytes, start, end);
    if (guess >= 0) return guess;
    const id = this.#slots[this.#find(bytes, start, end, hashOf(bytes, start, end))] as number;
    return id < 0 ? id : this.#follow(id);
  }

  /** Names come in the same order in each document: the one that followed this one before is tried first. */
  #guess(bytes: Buffer, start: number, end: number): number {
    const next = this.#next[this.#last] as number;
    return next >= 0 && this.#equals(next, bytes, start, end) ? (this.#last = next) : -1;
  }

  #follow(id: number): number {
    this.#next[this.#last] = id;
    this.#last = id;
    return id;
  }

  name(id: number): string {
    const text = this.#store.toString('utf8', this.#offsets[id], this.#offsets[id + 1]);
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }

  #find(bytes: Buffer, start: number, end: number, hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const id = this.#slots[slot] as number;
      if (id < 0 || (this.#hashes[id] === hash && this.#equals(id, bytes, start, end))) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #equals(id: number, bytes: Buffer, start: number, end: number): boolean {
    const offset = this.#offsets[id] as number;
    const length = (this.#offsets[id + 1] as number) - offset;
    if (length !== end - start) return false;
    for (let i = 0; i < length; i += 1) if (this.#store[offset + i] !== bytes[start + i]) return false;
    return true;
  }

  #append(bytes: Buffer, start: number, end: number, hash: number): void {
    const offset = this.#offsets[this.#count] as number;
    const needed = offset + end - start;
    if (needed > this.#store.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#store.length * 2));
      this.#store.copy(larger, 0, 0, offset);
      this.#store = larger;
    }
    if (this.#count === this.#hashes.length) {
      this.#hashes = grown(this.#hashes, this.#count * 2);
      this.#next = grown(this.#next, this.#count * 2).fill(-1, this.#count);
      this.#offsets = grown(this.#offsets, this.#count * 2 + 1);
    }
    bytes.copy(this.#store, offset, start, end);
    this.#hashes[this.#count] = hash;
    this.#count += 1;
    this.#offsets[this.#count] = needed;
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1);
    const mask = slots.length - 1;
    for (let id = 0; id < this.#count; id += 1) {
      let slot = (this.#hashes[id] as number) & mask;
      while ((slots[slot] as number) >= 0) slot = (slot + 1) & mask;
      slots[slot] = id;
    }
    this.#slots = slots;
  }
}

export function grown(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length);
  larger.set(array);
  return larger;
}

/** Four bytes a step, and finished so that the low bits, which choose the slot, depend on all of the name. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = end - start;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const word =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    hash = Math.imul(hash ^ word, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  for (; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) ^ (hash >>> 12);
}

const MIN_NAMES = 128;

/**
 * Assigns consecutive ids to distinct byte strings.
 *
 * Segment names occur three or four times each in a run. A hash table over the bytes is several times cheaper than strings.
 */
export class ByteInterner {
  /** Ids by hash; built at the first lookup of a name that is not at its predicted position. */
  #slots: Int32Array | undefined;
  #hashes = new Int32Array(MIN_NAMES);
  /** Number of names in `#slots`. */
  #hashed = 0;
  #offsets = new Int32Array(MIN_NAMES + 1);
  #store = Buffer.allocUnsafe(MIN_NAMES * 32);
  #count = 0;
  /** The id that followed each id the last time. */
  #next = new Int32Array(MIN_NAMES).fill(-1);
  #last = 0;

  get size(): number {
    return this.#count;
  }

  /** The id of a name that is known to be new. */
  add(bytes: Buffer, start: number, end: number): number {
    const id = this.#count;
    const offset = this.#offsets[id] as number;
    const limit = offset + end - start;
    if (limit > this.#store.length) this.#growStore(limit);
    if (id === this.#hashes.length) this.#growNames();
    const store = this.#store;
    for (let from = start, to = offset; to < limit; from += 1, to += 1) store[to] = bytes[from] as number;
    this.#count = id + 1;
    this.#offsets[this.#count] = limit;
    return this.#follow(id);
  }

  /** The id of the name; adds it if it is new. */
  intern(bytes: Buffer, start: number, end: number): number {
    const known = this.lookup(bytes, start, end);
    return known >= 0 ? known : this.add(bytes, start, end);
  }

  /** The id of the name, or -1 if it is unknown. */
  lookup(bytes: Buffer, start: number, end: number): number {
    // Names have the same order in each document: try the one that followed the last time.
    const next = this.#next[this.#last] as number;
    if (next >= 0 && this.#equals(next, bytes, start, end)) return (this.#last = next);
    const id = this.#find(bytes, start, end);
    return id < 0 ? id : this.#follow(id);
  }

  name(id: number): string {
    const text = this.#store.toString('utf8', this.#offsets[id], this.#offsets[id + 1]);
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }

  #follow(id: number): number {
    this.#next[this.#last] = id;
    this.#last = id;
    return id;
  }

  #find(bytes: Buffer, start: number, end: number): number {
    const slots = this.#index();
    const hash = hashOf(bytes, start, end);
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const id = slots[slot] as number;
      if (id < 0 || (this.#hashes[id] === hash && this.#equals(id, bytes, start, end))) return id;
    }
  }

  /** The hash table, updated to contain all names. */
  #index(): Int32Array {
    let slots = this.#slots;
    if (slots === undefined || this.#count * 2 > slots.length) {
      let length = 4 * MIN_NAMES;
      while (length < this.#count * 4) length *= 2;
      this.#slots = slots = new Int32Array(length).fill(-1);
      for (let id = 0; id < this.#hashed; id += 1) this.#enter(slots, id);
    }
    for (; this.#hashed < this.#count; this.#hashed += 1) {
      const id = this.#hashed;
      this.#hashes[id] = hashOf(this.#store, this.#offsets[id] as number, this.#offsets[id + 1] as number);
      this.#enter(slots, id);
    }
    return slots;
  }

  #enter(slots: Int32Array, id: number): void {
    const mask = slots.length - 1;
    let slot = (this.#hashes[id] as number) & mask;
    while ((slots[slot] as number) >= 0) slot = (slot + 1) & mask;
    slots[slot] = id;
  }

  #equals(id: number, bytes: Buffer, start: number, end: number): boolean {
    const offset = this.#offsets[id] as number;
    const length = (this.#offsets[id + 1] as number) - offset;
    if (length !== end - start) return false;
    const store = this.#store;
    // Backwards, because names share prefixes.
    for (let i = length - 1; i >= 0; i -= 1) if (store[offset + i] !== bytes[start + i]) return false;
    return true;
  }

  #growStore(needed: number): void {
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#store.length * 2));
    this.#store.copy(larger, 0, 0, this.#offsets[this.#count]);
    this.#store = larger;
  }

  #growNames(): void {
    const length = this.#count * 2;
    this.#hashes = grown(this.#hashes, length);
    this.#next = grown(this.#next, length).fill(-1, this.#count);
    this.#offsets = grown(this.#offsets, length + 1);
  }
}

export function grown(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length);
  larger.set(array);
  return larger;
}

/** Four bytes a step; the last steps make the low bits, which choose the slot, depend on all bytes. */
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

import type { KernelMemory } from './memory.ts';

/** How values are represented, agreed with tools/generate/column-kernel.as. */
export const KIND = {
  int32: 0,
  int64: 1,
  float32: 2,
  float64: 3,
  boolean: 4,
  bytes: 5,
  text: 6,
  list: 7,
} as const;
export type Kind = keyof typeof KIND;

/** Fields of a slot as numbers of its words, agreed with tools/generate/column-kernel.as. */
const FIELD = {
  kind: 0,
  length: 1,
  capacity: 2,
  nullCount: 3,
  validity: 4,
  values: 5,
  data: 6,
  used: 7,
  room: 8,
  items: 9,
} as const;
export const SLOT_BYTES = 40;

/** Small, because a result may have thousands of columns; a multiple of 8. */
const FIRST_CAPACITY = 64;
const FIRST_ROOM = 64;
/** A text is copied in words of this many bytes. */
const WORD_BYTES = 8;
const ALL_VALID = 0xff;
/** Bits of a value in `values`: of texts and lists an offset. */
const BITS = { int32: 32, int64: 64, float32: 32, float64: 64, boolean: 1, bytes: 32, text: 32, list: 32 } as const;
/** After the last value is the end of the last text or list. */
const OFFSET_BYTES = 4;

/** The description of a column in the memory of a kernel, and the blocks with its values. A null has the value 0. */
export class Slot {
  readonly kind: Kind;
  /** Of a list. */
  readonly items: Slot | undefined;
  readonly #memory: KernelMemory;
  readonly #at: number;

  /** @param at offset of SLOT_BYTES */
  constructor(memory: KernelMemory, at: number, kind: Kind, items?: Slot) {
    this.#memory = memory;
    this.#at = at;
    this.kind = kind;
    this.items = items;
    memory.words.fill(0, at >> 2, (at + SLOT_BYTES) >> 2);
    this.#set('kind', KIND[kind]);
    this.#set('items', items === undefined ? 0 : items.#at);
    this.#reserve(FIRST_CAPACITY);
    if (kind === 'text' || kind === 'bytes') this.reserveBytes(FIRST_ROOM);
    memory.words[this.values >> 2] = 0;
    this.clear();
  }

  get memory(): KernelMemory {
    return this.#memory;
  }

  get length(): number {
    return this.#get('length');
  }

  get nullCount(): number {
    return this.#get('nullCount');
  }

  /** Offset of a bit for each value, the lowest one first: 0 for null. Unused bits are 1. */
  get validity(): number {
    return this.#get('validity');
  }

  /** Offset of the values: numbers, bits, or where each text or list begins and the last one ends. */
  get values(): number {
    return this.#get('values');
  }

  /** Offset of the bytes of texts. */
  get data(): number {
    return this.#get('data');
  }

  /** Number of these bytes. */
  get used(): number {
    return this.#get('used');
  }

  /** Removes all values; their memory is used again. */
  clear(): void {
    const capacity = this.#get('capacity');
    this.#memory.bytes.fill(ALL_VALID, this.validity, this.validity + (capacity >> 3));
    if (this.kind === 'boolean') this.#memory.bytes.fill(0, this.values, this.values + (capacity >> 3));
    this.#set('length', 0);
    this.#set('nullCount', 0);
    this.#set('used', 0);
  }

  /** Makes room for one more value. @returns its number */
  next(): number {
    const { length } = this;
    if (length === this.#get('capacity')) this.grow();
    this.#set('length', length + 1);
    return length;
  }

  /** Value `i` is null. A list that is null is written by the kernel only. */
  setNull(i: number): void {
    const { bytes } = this.#memory;
    const at = this.validity + (i >> 3);
    bytes[at] = (bytes[at] as number) & ~(1 << (i & 7));
    this.#set('nullCount', this.nullCount + 1);
    if (this.kind === 'text' || this.kind === 'bytes') this.setOffset(i + 1, this.used);
    else if (this.kind !== 'boolean') {
      const width = BITS[this.kind] / 8;
      bytes.fill(0, this.values + i * width, this.values + (i + 1) * width);
    }
  }

  /** Of texts and lists: where value `i` begins, which is the end of the one before. */
  setOffset(i: number, offset: number): void {
    this.#memory.words[(this.values >> 2) + i] = offset;
  }

  /** Makes room for more values. */
  grow(): void {
    this.#reserve(2 * this.#get('capacity'));
  }

  /** Makes room for more bytes of texts. @param least their number, together with those that are used */
  growBytes(least = 0): void {
    const room = Math.max(2 * this.#get('room'), least + WORD_BYTES);
    this.#set('data', this.#copied(this.data, this.used, room));
    this.#set('room', room);
  }

  /** Makes room for some more bytes of texts. @returns the offset of the first unused one */
  reserveBytes(more: number): number {
    const least = this.used + more;
    if (least + WORD_BYTES > this.#get('room')) this.growBytes(least);
    return this.data + this.used;
  }

  /** Value `i` is a text with the last `length` bytes, which were written where `reserveBytes` says. */
  setText(i: number, length: number): void {
    this.#set('used', this.used + length);
    this.setOffset(i + 1, this.used);
  }

  #reserve(capacity: number): void {
    const before = this.#get('capacity');
    const bits = BITS[this.kind];
    const validity = this.#copied(this.validity, before >> 3, capacity >> 3);
    const values = this.#copied(
      this.values,
      (before * bits) / 8 + (before > 0 ? OFFSET_BYTES : 0),
      (capacity * bits) / 8 + OFFSET_BYTES,
    );
    const { bytes } = this.#memory;
    bytes.fill(ALL_VALID, validity + (before >> 3), validity + (capacity >> 3));
    if (this.kind === 'boolean') bytes.fill(0, values + (before >> 3), values + (capacity >> 3));
    this.#set('validity', validity);
    this.#set('values', values);
    this.#set('capacity', capacity);
  }

  /** @returns the offset of a new block with the content of another one */
  #copied(from: number, length: number, newLength: number): number {
    const at = this.#memory.reserve(newLength);
    this.#memory.bytes.copyWithin(at, from, from + length);
    return at;
  }

  #get(field: keyof typeof FIELD): number {
    return this.#memory.words[(this.#at >> 2) + FIELD[field]] as number;
  }

  #set(field: keyof typeof FIELD, value: number): void {
    this.#memory.words[(this.#at >> 2) + FIELD[field]] = value;
  }
}

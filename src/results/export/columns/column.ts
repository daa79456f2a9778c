/** Small, because a result may have thousands of columns; a multiple of 8. */
const FIRST_CAPACITY = 64;
const LETTER_U = 0x75;
const LETTER_L = 0x6c;
const ALL_VALID = 0xff;

/** Values of one column, collected for a batch of rows. A null has a place, whose value has no meaning. */
export abstract class Column {
  length = 0;
  nullCount = 0;
  /** A bit for each value, the lowest one first: 0 for null. Unused bits are 1. */
  validity = new Uint8Array(FIRST_CAPACITY >> 3).fill(ALL_VALID);
  #capacity = FIRST_CAPACITY;

  /**
   * Appends a value other than null.
   * @param at the first byte of JSON of a value
   * @returns the offset after the value
   * @throws {Error} if the type cannot represent the value exactly
   */
  abstract append(bytes: Uint8Array, at: number): number;

  /** Appends `null`, or throws for another value with its first letter. */
  appendNull(bytes: Uint8Array, at: number): number {
    const i = this.next();
    if (bytes[at + 1] !== LETTER_U || bytes[at + 2] !== LETTER_L || bytes[at + 3] !== LETTER_L) throw notOfType();
    this.nullCount++;
    this.validity[i >> 3] = (this.validity[i >> 3] as number) & ~(1 << (i & 7));
    this.setNull(i);
    return at + 4;
  }

  /** Makes room for one more value. @returns its number */
  protected next(): number {
    if (this.length === this.#capacity) this.#grow();
    return this.length++;
  }

  isNull(i: number): boolean {
    return ((this.validity[i >> 3] as number) & (1 << (i & 7))) === 0;
  }

  /** Removes all values; their memory is used again. */
  clear(): void {
    if (this.nullCount > 0) this.validity.fill(ALL_VALID);
    this.length = 0;
    this.nullCount = 0;
  }

  #grow(): void {
    this.#capacity *= 2;
    const larger = new Uint8Array(this.#capacity >> 3).fill(ALL_VALID);
    larger.set(this.validity);
    this.validity = larger;
    this.reserve(this.#capacity);
  }

  /** Value `i` is null. */
  protected setNull(_i: number): void {}
  /** Makes room for `capacity` values. */
  protected abstract reserve(capacity: number): void;
}

/** Room for the values of a column that is not yet larger than its first size. */
export function firstOf<T>(create: (length: number) => T): T {
  return create(FIRST_CAPACITY);
}

/** A larger copy. */
export function grown<T extends { set(values: T): void }>(values: T, create: (length: number) => T, length: number): T {
  const larger = create(length);
  larger.set(values);
  return larger;
}

export function notOfType(): TypeError {
  return new TypeError('the value is not of the type');
}

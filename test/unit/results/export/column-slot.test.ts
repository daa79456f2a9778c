import { describe, expect, it } from 'vitest';
import type { KernelMemory } from '../../../../src/results/export/columns/memory.ts';
import { appendOther } from '../../../../src/results/export/columns/other-values.ts';
import { type Kind, KIND, Slot, SLOT_BYTES } from '../../../../src/results/export/columns/slot.ts';
import { DIRT, dirtyMemory } from './kernel-memory.ts';

// Slots in a memory whose content is not 0, as after other downloads.

const KINDS = Object.keys(KIND) as Kind[];

interface Created {
  readonly memory: KernelMemory;
  readonly slot: Slot;
}

function created(kind: Kind): Created {
  const { memory } = dirtyMemory(0);
  const at = memory.reserve(SLOT_BYTES);
  if (kind !== 'list') return { memory, slot: new Slot(memory, at, kind) };
  const items = new Slot(memory, memory.reserve(SLOT_BYTES), 'int32');
  return { memory, slot: new Slot(memory, at, kind, items) };
}

/** The validity of values, beginning with the first one. */
const validity = ({ memory, slot }: Created, count: number): number[] => bitsAt(memory, slot.validity, count);

const bitsAt = ({ bytes }: KernelMemory, from: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => ((bytes[from + (i >> 3)] as number) >> (i & 7)) & 1);

/** Where texts or lists begin, and the last one ends. */
const offsets = ({ memory, slot }: Created, count: number): number[] =>
  Array.from({ length: count }, (_, i) => memory.view.getInt32(slot.values + 4 * i, true));

function append(slot: Slot, ...values: readonly string[]): void {
  for (const value of values) appendOther(slot, Buffer.from(value), 0);
}

describe('a new slot', () => {
  it.each(KINDS)('of %s has no values, and room for 64 of them', (kind) => {
    const one = created(kind);
    const { slot } = one;
    expect([slot.length, slot.nullCount, slot.used]).toEqual([0, 0, 0]);
    expect(validity(one, 64)).toEqual(Array(64).fill(1));
    const { validity: bits, values, data } = slot;
    for (let i = 0; i < 64; i++) expect(slot.next()).toBe(i);
    expect([slot.validity, slot.values, slot.data]).toEqual([bits, values, data]);
    slot.next();
    expect(slot.length).toBe(65);
    expect(slot.validity).not.toBe(bits);
    expect(slot.values).not.toBe(values);
  });

  it.each([
    // Its fields; the bits of the validity; the values and the end of the last one, up to the next multiple of 8.
    ['int32', SLOT_BYTES + 8 + 260],
    ['float32', SLOT_BYTES + 8 + 260],
    ['int64', SLOT_BYTES + 8 + 516],
    ['float64', SLOT_BYTES + 8 + 516],
    ['boolean', SLOT_BYTES + 8 + 12],
    // The bytes of texts.
    ['text', SLOT_BYTES + 8 + 264 + 72],
    ['bytes', SLOT_BYTES + 8 + 264 + 72],
    // The fields of the items, their validity and values.
    ['list', 2 * SLOT_BYTES + 8 + 264 + 8 + 260],
  ] as const)('of %s takes %i bytes', (kind, bytes) => {
    expect(created(kind).memory.reserved).toBe(bytes);
  });

  it.each(['text', 'bytes', 'list'] as const)('of %s begins with the offset 0', (kind) => {
    expect(offsets(created(kind), 1)).toEqual([0]);
  });

  it('of booleans has only false', () => {
    const { memory, slot } = created('boolean');
    expect(bitsAt(memory, slot.values, 64)).toEqual(Array(64).fill(0));
  });

  it('changes no memory behind its fields', () => {
    const { memory } = dirtyMemory(0);
    const at = memory.reserve(SLOT_BYTES);
    const [before, next] = [memory.reserve(8), memory.reserve(8)];
    expect(before).toBe(SLOT_BYTES);
    const slot = new Slot(memory, at, 'int32');
    slot.next();
    expect([...memory.bytes.subarray(before, next + 8)]).toEqual(Array(16).fill(DIRT));
  });
});

describe('a null', () => {
  it.each([
    ['int32', 4],
    ['float32', 4],
    ['int64', 8],
    ['float64', 8],
  ] as const)('of %s is 0, and the values beside it stay', (kind, width) => {
    const one = created(kind);
    const { memory, slot } = one;
    for (let i = 0; i < 11; i++) slot.next();
    const at = slot.values + 9 * width;
    expect([...memory.bytes.subarray(at - width, at + 2 * width)]).toEqual(Array(3 * width).fill(DIRT));
    slot.setNull(9);
    expect([...memory.bytes.subarray(at - width, at + 2 * width)]).toEqual([
      ...Array(width).fill(DIRT),
      ...Array(width).fill(0),
      ...Array(width).fill(DIRT),
    ]);
    expect(slot.nullCount).toBe(1);
    slot.setNull(0);
    expect(slot.nullCount).toBe(2);
    expect(validity(one, 12)).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1]);
  });

  it('of a boolean is false, and the values beside it stay', () => {
    const one = created('boolean');
    append(one.slot, 'true', 'null', 'true');
    expect(bitsAt(one.memory, one.slot.values, 8)).toEqual([1, 0, 1, 0, 0, 0, 0, 0]);
    expect(validity(one, 3)).toEqual([1, 0, 1]);
  });

  it.each([
    ['text', '"ab"', 2],
    ['bytes', '"0102ff"', 3],
  ] as const)('of %s is empty', (kind, value, size) => {
    const one = created(kind);
    append(one.slot, value, 'null', value);
    expect(offsets(one, 4)).toEqual([0, size, size, 2 * size]);
    expect(validity(one, 3)).toEqual([1, 0, 1]);
    expect(one.slot.nullCount).toBe(1);
  });
});

describe('a slot that grows', () => {
  it.each([
    ['int32', 4],
    ['float32', 4],
    ['int64', 8],
    ['float64', 8],
  ] as const)('keeps the values of %s, and the nulls', (kind, width) => {
    const one = created(kind);
    const { slot } = one;
    const values = Array.from({ length: 200 }, (_, i) => (i % 5 === 3 ? 'null' : `"${i + 1}"`));
    append(slot, ...values);
    const read = { int32: 'getInt32', int64: 'getBigInt64', float32: 'getFloat32', float64: 'getFloat64' } as const;
    const found = values.map((_, i) => Number(one.memory.view[read[kind]](slot.values + i * width, true)));
    expect(found).toEqual(values.map((_, i) => (i % 5 === 3 ? 0 : i + 1)));
    expect(validity(one, 256)).toEqual(Array.from({ length: 256 }, (_, i) => (i < 200 && i % 5 === 3 ? 0 : 1)));
    expect([slot.length, slot.nullCount]).toEqual([200, 40]);
  });

  it('keeps booleans, and the nulls', () => {
    const one = created('boolean');
    const values = Array.from({ length: 200 }, (_, i) => (i % 5 === 3 ? 'null' : String(i % 3 === 0)));
    append(one.slot, ...values);
    expect(bitsAt(one.memory, one.slot.values, 256)).toEqual(
      Array.from({ length: 256 }, (_, i) => Number(values[i] === 'true')),
    );
    expect(validity(one, 256)).toEqual(Array.from({ length: 256 }, (_, i) => Number(values[i] !== 'null')));
  });

  it.each(['text', 'bytes'] as const)('keeps %s', (kind) => {
    const one = created(kind);
    const values = Array.from({ length: 200 }, (_, i) => 'ab'.repeat(i % 9));
    append(one.slot, ...values.map((value) => `"${value}"`));
    const whole = Buffer.from(values.join(''), kind === 'bytes' ? 'hex' : 'utf8');
    const { slot, memory } = one;
    expect(slot.used).toBe(whole.length);
    expect(memory.bytes.subarray(slot.data, slot.data + slot.used)).toEqual(whole);
    const sizes = values.map(({ length }) => (kind === 'bytes' ? length / 2 : length));
    let sum = 0;
    expect(offsets(one, 201)).toEqual([0, ...sizes.map((size) => (sum += size))]);
  });

  it('keeps lists', () => {
    const one = created('list');
    const { slot, memory } = one;
    append(
      slot,
      ...Array.from(
        { length: 100 },
        (_, i) =>
          `[${Array(i % 4)
            .fill(i)
            .join()}]`,
      ),
    );
    const expected = Array.from({ length: 100 }, (_, i) => Array<number>(i % 4).fill(i));
    let sum = 0;
    expect(offsets(one, 101)).toEqual([0, ...expected.map(({ length }) => (sum += length))]);
    const items = slot.items as Slot;
    expect(items.length).toBe(150);
    expect(expected.flat().map((_, i) => memory.view.getInt32(items.values + 4 * i, true))).toEqual(expected.flat());
  });

  it('has room for twice as many values', () => {
    const { memory, slot } = created('int32');
    const before = memory.reserved;
    slot.grow();
    // To the next multiple of 8; validity; values and the end of the last one.
    expect(memory.reserved).toBe(before + 4 + 16 + 4 * 128 + 4);
    const { values } = slot;
    for (let i = 0; i < 128; i++) slot.next();
    expect(slot.values).toBe(values);
  });
});

describe('the bytes of texts', () => {
  it('have room for a word behind a text', () => {
    const { slot } = created('text');
    const first = slot.data;
    // The first block has 72 bytes.
    expect(slot.reserveBytes(64)).toBe(first);
    expect(slot.data).toBe(first);
    expect(slot.reserveBytes(65)).toBe(slot.data);
    expect(slot.data).not.toBe(first);
  });

  it('follow those that are used', () => {
    const { memory, slot } = created('text');
    memory.bytes.write('abc', slot.reserveBytes(3));
    slot.setText(slot.next(), 3);
    expect(slot.used).toBe(3);
    expect(slot.reserveBytes(61)).toBe(slot.data + 3);
    const first = slot.data;
    expect(slot.reserveBytes(62)).toBe(slot.data + 3);
    expect(slot.data).not.toBe(first);
    expect(memory.bytes.toString('latin1', slot.data, slot.data + 3)).toBe('abc');
  });

  it.each([
    // Twice as many as before, or those that are needed and a word.
    [65, 2 * 72],
    [136, 2 * 72],
    [137, 137 + 8],
    [1000, 1000 + 8],
  ])('that are %i get a block of %i', (more, room) => {
    const { memory, slot } = created('text');
    const before = memory.reserved;
    slot.reserveBytes(more);
    expect(memory.reserved - before).toBe(room);
  });

  it('get a block of twice the size where the kernel needs more', () => {
    const { memory, slot } = created('text');
    const before = memory.reserved;
    slot.growBytes();
    expect(memory.reserved - before).toBe(2 * 72);
  });

  it('of several bytes for each character do not reach into the next block', () => {
    const { memory } = dirtyMemory(0);
    const text = new Slot(memory, memory.reserve(SLOT_BYTES), 'text');
    const next = memory.reserve(8);
    memory.bytes.fill(1, next, next + 8);
    append(text, `"${'€'.repeat(30)}"`, `"${'€'.repeat(100)}"`);
    expect([...memory.bytes.subarray(next, next + 8)]).toEqual(Array(8).fill(1));
    expect(memory.bytes.toString('utf8', text.data, text.data + text.used)).toBe('€'.repeat(130));
    expect(text.data + text.used).toBeLessThanOrEqual(memory.reserved);
  });
});

describe('a slot without its values', () => {
  it.each(KINDS.filter((kind) => kind !== 'list'))('has those of %s that are appended next', (kind) => {
    const one = created(kind);
    const { slot, memory } = one;
    const value = kind === 'boolean' ? 'true' : kind === 'bytes' ? '"12"' : '7';
    append(slot, ...Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? value : 'null')));
    const { values, data } = slot;
    slot.clear();
    expect([slot.length, slot.nullCount, slot.used]).toEqual([0, 0, 0]);
    expect([slot.values, slot.data]).toEqual([values, data]);
    expect(validity(one, 128)).toEqual(Array(128).fill(1));
    if (kind === 'boolean') expect(bitsAt(memory, slot.values, 128)).toEqual(Array(128).fill(0));
    append(slot, 'null', value);
    expect(validity(one, 2)).toEqual([0, 1]);
    expect(slot.nullCount).toBe(1);
  });
});

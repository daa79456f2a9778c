import { cellOf } from '../../lib/exact-json.ts';

type Row = readonly unknown[];

export interface Order {
  readonly column: number;
  readonly descending: boolean;
}

/** The next order of a column: ascending, descending, and that of the result. */
export function nextOrder(order: Order | undefined, column: number): Order | undefined {
  if (order?.column !== column) return { column, descending: false };
  return order.descending ? undefined : { column, descending: true };
}

/** Numbers by their value, and texts by their characters; what is absent comes last. */
function compare(a: unknown, b: unknown): number {
  const [one, other] = [cellOf(a), cellOf(b)];
  if (one.kind === 'null' || other.kind === 'null') return Number(one.kind === 'null') - Number(other.kind === 'null');
  if (one.kind !== 'number' || other.kind !== 'number')
    return one.text < other.text ? -1 : Number(one.text > other.text);
  const isLong = /^-?\d+$/.test(one.text) && /^-?\d+$/.test(other.text);
  const [x, y] = isLong ? [BigInt(one.text), BigInt(other.text)] : [Number(one.text), Number(other.text)];
  return x < y ? -1 : Number(x > y);
}

/** The rows of a page that contain a text, in an order. @returns their indexes in the page */
export function rowsOf(rows: readonly Row[], search: string, order: Order | undefined): readonly number[] {
  const wanted = search.toLowerCase();
  const found = [...rows.keys()].filter(
    (index) => wanted === '' || (rows[index] ?? []).some((value) => cellOf(value).text.toLowerCase().includes(wanted)),
  );
  if (!order) return found;
  const { column, descending } = order;
  const value = (index: number): unknown => rows[index]?.[column];
  const isAbsent = (index: number): boolean => cellOf(value(index)).kind === 'null';
  return found.sort((a, b) => {
    const by = compare(value(a), value(b));
    return descending && !isAbsent(a) && !isAbsent(b) ? -by : by;
  });
}

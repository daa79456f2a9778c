import { afterSpace, CLOSE_OBJECT, COMMA, OPEN_OBJECT, QUOTE } from '../../../platform/json/valid-json.ts';
import { Column, copyInto, FIRST_CAPACITY, TextColumn } from './column.ts';
import { notOfType } from './numbers.ts';

const COLON = 0x3a;

/** Maps from texts to texts. The engine does not name the type of the values: those that are no texts are as they are written in JSON. */
export class MapColumn extends Column {
  readonly keys = new TextColumn();
  readonly items = new TextColumn();
  /** The first entry of each map, and the end of the last one. */
  offsets = new Int32Array(FIRST_CAPACITY + 1);

  override clear(): void {
    super.clear();
    this.keys.clear();
    this.items.clear();
  }

  protected override appendValue(bytes: Uint8Array, from: number, i: number): number {
    if (bytes[from] !== OPEN_OBJECT) throw notOfType();
    let at = afterSpace(bytes, from + 1);
    while (bytes[at] !== CLOSE_OBJECT) {
      if (bytes[at] !== QUOTE) throw notOfType();
      at = afterSpace(bytes, this.keys.append(bytes, at));
      if (bytes[at] !== COLON) throw notOfType();
      at = afterSpace(bytes, this.items.append(bytes, afterSpace(bytes, at + 1)));
      if (bytes[at] === COMMA) at = afterSpace(bytes, at + 1);
      else if (bytes[at] !== CLOSE_OBJECT) throw notOfType();
    }
    this.offsets[i + 1] = this.keys.length;
    return at + 1;
  }

  protected override appendNull(i: number): void {
    this.offsets[i + 1] = this.keys.length;
  }

  protected override resize(capacity: number): void {
    this.offsets = copyInto(new Int32Array(capacity + 1), this.offsets);
  }
}

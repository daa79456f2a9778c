import { NOT_READ, type FileSample, type Read } from '../../snapshot.ts';
import { isOfController, titleOf, type ControllerCall } from '../calls/call.ts';
import type { EngineReader } from '../calls/reader.ts';
import type { ClusterCalls } from '../cluster/cluster.ts';
import type { TableEntry } from '../configs.ts';
import { sampleOf } from '../placement/layout.ts';
import type { TableState } from './table-documents.ts';

/** After all other calls: a run needs them more. */
const PRIORITY = 9;

/** Asks the controller whether it has the files of segments that it serves to servers. */
export class FileReadings {
  readonly #reader: EngineReader;
  readonly #calls: ClusterCalls;

  constructor(reader: EngineReader, calls: ClusterCalls) {
    this.#reader = reader;
    this.#calls = calls;
  }

  /**
   * The files of a table's sample of segments.
   * @param turn runs calls when it is the table's turn
   * @param pause waits before a missing file is requested again; other tables have their turns meanwhile
   */
  async read(
    { entry, segments }: TableState,
    { turn, pause }: { readonly turn: <T>(calls: () => Promise<T>) => Promise<T>; readonly pause: () => Promise<void> },
  ): Promise<Read<FileSample>> {
    // A failure is that of the metadata.
    if (!segments.ok) return NOT_READ;
    const { served } = segments.value.files;
    return this.#reader.read(async () => {
      const missing = await turn(() => this.#missing(entry, served));
      if (missing.length === 0) return { asked: served.length, missing: sampleOf([]) };
      await pause();
      const known = await turn(async () => {
        const still = await this.#missing(entry, missing);
        return Promise.all(still.map(async (segment) => (await this.#isServed(entry, segment)) && segment));
      });
      return { asked: served.length, missing: sampleOf(known.filter((segment) => segment !== false)) };
    });
  }

  /** @throws {Error} a response of a proxy, which may have no route to the path */
  async #missing(entry: TableEntry, names: readonly string[]): Promise<string[]> {
    const has = await Promise.all(names.map((segment) => this.#has(entry, segment)));
    return names.filter((_, i) => has[i] === false);
  }

  async #has(entry: TableEntry, segment: string): Promise<boolean> {
    const call = this.#call(entry, segment);
    const { status, headers } = await this.#reader.response(call);
    if ((status === 200 || status === 404) && !isOfController(headers)) {
      throw new Error(`${titleOf(call)} responded with ${status}, but not from a Pinot controller`);
    }
    if (status !== 200 && status !== 404) throw new Error(`${titleOf(call)} responded with ${status}`);
    return status === 200;
  }

  /** Whether servers get the file from the controller: the segment was not deleted meanwhile, and has no other URL. */
  async #isServed(entry: TableEntry, segment: string): Promise<boolean> {
    const node = await this.#calls.segmentNode(entry.name, segment);
    const path = URL.parse(node?.downloadUrl ?? '')?.pathname ?? '';
    return path.endsWith(pathOf(entry, segment));
  }

  #call(entry: TableEntry, segment: string): ControllerCall {
    // The controller sends the file to other methods.
    return this.#calls.call('segment_file', pathOf(entry, segment), { method: 'HEAD', priority: PRIORITY });
  }
}

function pathOf({ rawName }: TableEntry, segment: string): string {
  return `/segments/${encodeURIComponent(rawName)}/${encodeURIComponent(segment)}`;
}

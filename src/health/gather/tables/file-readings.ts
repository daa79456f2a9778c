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

  /** The files of a table's sample of segments. `pause` waits before a missing one is requested again. */
  async read({ entry, segments }: TableState, pause: () => Promise<void>): Promise<Read<FileSample>> {
    // A failure is that of the metadata.
    if (!segments.ok) return NOT_READ;
    const { served } = segments.value.files;
    return this.#reader.read(async () => {
      const missing = await this.#missing(entry, served);
      if (missing.length > 0) await pause();
      const still = missing.length > 0 ? await this.#missing(entry, missing) : [];
      const known = await Promise.all(still.map(async (segment) => (await this.#isServed(entry, segment)) && segment));
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

import { parseDuration } from '../../platform/duration.ts';
import type { TableConfig } from '../snapshot.ts';
import { objectOf, specsOf, textOf, type JsonValue } from './json-values.ts';

/** Streams whose partitions are numbered from 0 without gaps. */
const NUMBERED_STREAMS: ReadonlySet<unknown> = new Set(['kafka', 'pulsar']);
const FLUSH_TIME = 'realtime.segment.flush.threshold.time';
/** The engine's default, also for a value that it cannot read. */
const DEFAULT_FLUSH_MS = 6 * 3_600_000;

/** What the settings of a table's streams say; newer engine versions have them in the ingestion configuration. */
export function streamSettings(
  indexConfig: JsonValue,
  ingestion: JsonValue,
): Pick<TableConfig, 'partitionsEnd' | 'partitionsFromZero' | 'flushTimeMs'> {
  const maps = specsOf(objectOf(ingestion.streamIngestionConfig).streamConfigMaps);
  const streams = [objectOf(indexConfig.streamConfigs), ...maps].filter(({ streamType }) => streamType !== undefined);
  const types = streams.map(({ streamType }) => textOf(streamType)?.toLowerCase());
  // A table can consume some partitions of a stream only.
  const chooses = streams.some((stream) => Object.keys(stream).some((key) => /partition\.?ids?$/iu.test(key)));
  return {
    partitionsEnd: types.includes('kinesis'),
    partitionsFromZero: !chooses && types.length > 0 && types.every((type) => NUMBERED_STREAMS.has(type)),
    flushTimeMs: Math.max(...streams.map((stream) => flushTimeMs(textOf(stream[FLUSH_TIME]))), 0) || DEFAULT_FLUSH_MS,
  };
}

/** @param text `6h`, `1d12h`, or milliseconds */
function flushTimeMs(text: string | undefined): number {
  if (text === undefined) return DEFAULT_FLUSH_MS;
  const ms = /^[0-9]{1,15}$/u.test(text) ? Number(text) : parseDuration(text.toLowerCase());
  return ms !== undefined && ms > 0 ? ms : DEFAULT_FLUSH_MS;
}

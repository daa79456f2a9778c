import { choice, type PropertyGroup, type PropertyValues } from '../../platform/setting-schema.ts';
import type { ResultStore } from '../result-store.ts';
import type { StoreContext, StoreDefinition } from './definition.ts';
import { FILE_STORE } from './file/definition.ts';
import { GCS_STORE } from './gcs/definition.ts';
import { MEMORY_STORE } from './memory/definition.ts';
import { S3_STORE } from './s3/definition.ts';

/** Every kind of result store. */
export const RESULT_STORES: readonly StoreDefinition[] = [MEMORY_STORE, FILE_STORE, S3_STORE, GCS_STORE];

const PROTOCOL = 'olap.broker.pagination.protocol';

const SELECTION: PropertyGroup = {
  properties: {
    [PROTOCOL]: choice(
      RESULT_STORES.map(({ protocol }) => protocol),
      {
        description:
          'Result store. `memory` is not for production. With `memory`, and with `file` on a local disk, each request must reach the gateway that stores the result; clients set `FORWARD_HOST` and `FORWARD_PORT` for that.',
        default: MEMORY_STORE.protocol,
      },
    ),
  },
  problems(values) {
    const { protocol, required } = definitionOf(values);
    if (required === undefined || values[required] !== undefined) return [];
    return [`missing \`${required}\`: it is required with \`${PROTOCOL}\` \`${protocol}\``];
  },
};

/** The property that selects the store, and those of each store. */
export const RESULT_STORE_PROPERTIES: readonly PropertyGroup[] = [
  SELECTION,
  ...RESULT_STORES.map(({ properties }) => ({ properties })),
];

/** The properties that select a folder in the place of the results: clusters that share the place do not see each other's results. */
export function inFolder<P extends PropertyValues>(properties: P, folder: string): P {
  const below = (key: string): PropertyValues => {
    const place = properties[key];
    if (typeof place !== 'string') return {};
    return { [key]: place === '' ? folder : `${place.replace(/\/+$/u, '')}/${folder}` };
  };
  const keys = RESULT_STORES.flatMap(({ place }) => (place === undefined ? [] : [place]));
  return Object.assign({}, properties, ...keys.map(below)) as P;
}

/** Value of `olap.broker.pagination.protocol`. */
export function protocolOf(properties: PropertyValues): string {
  return String(properties[PROTOCOL]);
}

/**
 * Creates the configured store; call `start` before use.
 * @param properties valid values of `RESULT_STORE_PROPERTIES`; others are ignored
 * @throws {TypeError} for properties without a valid location
 */
export function createResultStore(properties: PropertyValues, context: StoreContext): Promise<ResultStore> {
  return definitionOf(properties).create(properties, context);
}

/** @throws {TypeError} for an unknown protocol, which the schema rejects */
function definitionOf(properties: PropertyValues): StoreDefinition {
  const protocol = protocolOf(properties);
  const definition = RESULT_STORES.find((store) => store.protocol === protocol);
  if (definition === undefined) throw new TypeError(`unknown \`${PROTOCOL}\` \`${protocol}\``);
  return definition;
}

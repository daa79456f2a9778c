import { CONTROLLER_PROPERTIES, QUERY_PROPERTIES } from '../../config/properties.ts';
import { PropertySet } from '../../config/property-set.ts';
import { RESULT_STORE_PROPERTIES } from '../../results/stores/result-stores.ts';

/** All properties that the configuration file and `--set` may contain, in the order of docs/configuration.md. */
export const PROPERTIES = new PropertySet([QUERY_PROPERTIES, ...RESULT_STORE_PROPERTIES, CONTROLLER_PROPERTIES]);

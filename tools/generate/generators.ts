import { generateActions } from './actions.ts';
import { generateAlerts } from './alerts.ts';
import { generateApiTypes } from './api-types.ts';
import { generateArgoHealth } from './argo-health.ts';
import { generateAuditSchema } from './audit-schema.ts';
import { generateChartCrds, generateChartManifests, generateChartReadme } from './chart-files.ts';
import { generateCommands } from './commands.ts';
import { generateConfiguration } from './configuration.ts';
import { generateCheckIndex } from './check-index.ts';
import { generateCrds } from './crds.ts';
import { generateCrdsChart } from './crds-chart.ts';
import { generateDashboard } from './dashboard.ts';
import { generateFieldReference } from './field-reference.ts';
import { generateMetrics } from './metrics.ts';
import { generateOpenApi } from './openapi.ts';
import { generatePerformance } from './performance.ts';
import { generateQueryOptions } from './query-options.ts';
import { generateValuesSchema } from './values-schema.ts';
import type { Generator } from './generator.ts';

/** All generators, except for that of sources that these import. */
export const GENERATORS: readonly Generator[] = [
  generateActions,
  generateAlerts,
  generateApiTypes,
  generateArgoHealth,
  generateAuditSchema,
  generateChartCrds,
  generateChartManifests,
  generateChartReadme,
  generateCommands,
  generateConfiguration,
  generateCheckIndex,
  generateCrds,
  generateCrdsChart,
  generateDashboard,
  generateFieldReference,
  generateMetrics,
  generateOpenApi,
  generatePerformance,
  generateQueryOptions,
  generateValuesSchema,
];

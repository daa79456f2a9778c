import { grafanaDashboard } from './dashboard/layout.ts';
import { OPERATION_ROWS } from './dashboard/operation.ts';
import { ROWS } from './dashboard/pinot.ts';
import type { GeneratedFiles } from './generator.ts';

const FOLDER = 'charts/olap-warden/files';

/** Generates the Grafana dashboards for the chart's ConfigMap. */
export function generateDashboard(): GeneratedFiles {
  const pinot = grafanaDashboard({
    uid: 'olap-warden',
    title: 'olap-warden',
    description: 'Cluster health, access decisions and gateways.',
    rows: ROWS,
  });
  const operation = grafanaDashboard({
    uid: 'olap-warden-operation',
    title: 'olap-warden: operation',
    description:
      'The processes of olap-warden: requests, views of the Kubernetes API, operator, result store, resources.',
    rows: OPERATION_ROWS,
  });
  return new Map([
    [`${FOLDER}/dashboard.json`, pinot],
    [`${FOLDER}/dashboard-operation.json`, operation],
  ]);
}

import { SCOPE, type Row } from './layout.ts';

const STATES = { '1': { text: 'PASS', color: 'green' }, '0': { text: 'FAIL', color: 'red' } };

/** The rows of the dashboard about the cluster and its users. A test runs all queries against a real Prometheus. */
export const ROWS: readonly Row[] = [
  {
    title: 'Cluster health',
    panels: [
      {
        title: 'Failed checks',
        type: 'stat',
        width: 4,
        height: 5,
        queries: [
          {
            expr: `max by (cluster, report) (olap_warden_health_checks_failed{${SCOPE}})`,
            legend: '{{cluster}} {{report}}',
            instant: true,
          },
        ],
        thresholds: [
          { value: null, color: 'green' },
          { value: 1, color: 'red' },
        ],
      },
      {
        title: 'Age of the report',
        type: 'stat',
        width: 4,
        height: 5,
        unit: 's',
        queries: [
          {
            expr: `time() - max by (cluster, report) (olap_warden_health_last_run_timestamp_seconds{${SCOPE}})`,
            legend: '{{cluster}} {{report}}',
            instant: true,
          },
        ],
        thresholds: [
          { value: null, color: 'green' },
          { value: 3600, color: 'orange' },
        ],
      },
      {
        title: 'Duration of runs',
        type: 'timeseries',
        width: 8,
        height: 5,
        unit: 's',
        queries: [
          {
            expr: `max by (cluster, report) (olap_warden_health_last_run_duration_seconds{${SCOPE}})`,
            legend: '{{cluster}} {{report}}',
          },
        ],
      },
      {
        title: 'Runs by result',
        type: 'timeseries',
        width: 8,
        height: 5,
        queries: [
          { expr: `sum by (result) (increase(olap_warden_health_runs_total{${SCOPE}}[1h]))`, legend: '{{result}}' },
        ],
      },
      {
        title: 'State of all checks',
        type: 'state-timeline',
        width: 24,
        height: 18,
        queries: [
          {
            expr: `max by (cluster, report, check) (olap_warden_health_check_status{${SCOPE}})`,
            legend: '{{cluster}} {{report}} {{check}}',
          },
        ],
        mappings: STATES,
      },
      {
        title: 'Findings over time',
        type: 'timeseries',
        width: 16,
        height: 8,
        queries: [
          {
            expr: `max by (cluster, report, check) (olap_warden_health_check_findings{${SCOPE}}) > 0`,
            legend: '{{cluster}} {{report}} {{check}}',
          },
        ],
      },
      {
        title: 'Calls to Pinot',
        type: 'timeseries',
        width: 8,
        height: 8,
        queries: [
          {
            expr: `sum by (outcome) (increase(olap_warden_health_engine_calls_total{${SCOPE}}[1h]))`,
            legend: '{{outcome}}',
          },
        ],
      },
    ],
  },
  {
    title: 'Access',
    panels: [
      {
        title: 'Decisions',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 'ops',
        queries: [{ expr: `sum by (result) (rate(olap_warden_decisions_total{${SCOPE}}[5m]))`, legend: '{{result}}' }],
      },
      {
        title: 'Requests by status',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 'reqps',
        queries: [
          {
            expr: `sum by (status) (rate(olap_warden_http_request_duration_seconds_count{${SCOPE}}[5m]))`,
            legend: '{{status}}',
          },
        ],
      },
      {
        title: 'Response time, 99th percentile',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 's',
        queries: [
          {
            expr: `histogram_quantile(0.99, sum by (le, route) (rate(olap_warden_http_request_duration_seconds_bucket{${SCOPE}}[5m])))`,
            legend: '{{route}}',
          },
        ],
      },
      {
        title: 'Age of the resource view',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 's',
        queries: [
          { expr: `max by (pod, instance) (olap_warden_store_age_seconds{${SCOPE}})`, legend: '{{pod}} {{instance}}' },
        ],
      },
      {
        title: 'Memory',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 'bytes',
        queries: [
          {
            expr: `max by (pod, instance) (process_resident_memory_bytes{${SCOPE}} * on (instance) group_left () olap_warden_info)`,
            legend: '{{pod}} {{instance}}',
          },
        ],
      },
      {
        title: 'Reconciliations',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 'ops',
        queries: [
          {
            expr: `sum by (controller, result) (rate(controller_runtime_reconcile_total{${SCOPE}}[5m]))`,
            legend: '{{controller}} {{result}}',
          },
        ],
      },
    ],
  },
  {
    title: 'Paginated queries',
    panels: [
      {
        title: 'Stored results, bytes',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 'bytes',
        queries: [
          {
            expr: `sum by (pod, instance) (olap_warden_pagination_stored_bytes{${SCOPE}})`,
            legend: '{{pod}} {{instance}}',
          },
        ],
      },
      {
        title: 'Stored results',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 'short',
        queries: [
          {
            expr: `sum by (pod, instance) (olap_warden_pagination_stored_results{${SCOPE}})`,
            legend: '{{pod}} {{instance}}',
          },
        ],
      },
      {
        title: 'Submissions by outcome',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 'reqps',
        queries: [
          {
            expr: `sum by (outcome) (rate(olap_warden_pagination_submissions_total{${SCOPE}}[5m]))`,
            legend: '{{outcome}}',
          },
        ],
      },
      {
        title: 'Pages',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 'reqps',
        queries: [{ expr: `sum(rate(olap_warden_pagination_pages_total{${SCOPE}}[5m]))`, legend: 'pages' }],
      },
      {
        title: 'Deletions by reason',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 'short',
        queries: [
          {
            expr: `sum by (reason) (increase(olap_warden_pagination_deletions_total{${SCOPE}}[1h]))`,
            legend: '{{reason}}',
          },
        ],
      },
      {
        title: 'Duration of store calls, 99th percentile',
        type: 'timeseries',
        width: 8,
        height: 8,
        unit: 's',
        queries: [
          {
            expr: `histogram_quantile(0.99, sum by (le, operation) (rate(olap_warden_pagination_store_duration_seconds_bucket{${SCOPE}}[5m])))`,
            legend: '{{operation}}',
          },
        ],
      },
    ],
  },
];

import { SCOPE, type Panel, type Row } from './layout.ts';

/** Legend of a series for each process. */
const PROCESS = '{{pod}} {{instance}}';
/** Keeps the series of olap-warden among those that every Node process has. */
const OF_OLAP_WARDEN = '* on (instance) group_left () olap_warden_info';

interface Line {
  readonly expr: string;
  readonly legend: string;
}

const panel = (title: string, unit: string, ...queries: readonly Line[]): Panel => ({
  title,
  type: 'timeseries',
  width: 8,
  height: 8,
  unit,
  queries,
});

/** The expression by process. */
const perProcess = (expr: string): Line => ({ expr: `max by (pod, instance) (${expr})`, legend: PROCESS });

/** Rate per second of a counter, by label. */
const rateBy = (counter: string, label: string, selector = ''): Line => ({
  expr: `sum by (${label}) (rate(${counter}{${SCOPE}${selector}}[5m]))`,
  legend: `{{${label}}}`,
});

/** Quantile of a histogram, by label. */
const quantileBy = (quantile: number, histogram: string, label: string): Line => ({
  expr: `histogram_quantile(${quantile}, sum by (le, ${label}) (rate(${histogram}_bucket{${SCOPE}}[5m])))`,
  legend: `{{${label}}}`,
});

const REQUESTS: Row = {
  title: 'Requests and decisions',
  panels: [
    panel('Requests by status', 'reqps', rateBy('olap_warden_http_request_duration_seconds_count', 'status')),
    panel(
      'Failed and refused requests by route',
      'reqps',
      rateBy('olap_warden_http_request_duration_seconds_count', 'route', ', status=~"4..|5.."'),
    ),
    panel('Requests by process', 'reqps', {
      expr: `sum by (pod, instance) (rate(olap_warden_http_request_duration_seconds_count{${SCOPE}}[5m]))`,
      legend: PROCESS,
    }),
    panel('Response time, median', 's', quantileBy(0.5, 'olap_warden_http_request_duration_seconds', 'route')),
    panel(
      'Response time, 99th percentile',
      's',
      quantileBy(0.99, 'olap_warden_http_request_duration_seconds', 'route'),
    ),
    panel('Decisions', 'ops', rateBy('olap_warden_decisions_total', 'result')),
    panel('Denied share of decisions', 'percentunit', {
      expr: `sum(rate(olap_warden_decisions_total{${SCOPE}, result="denied"}[5m])) / sum(rate(olap_warden_decisions_total{${SCOPE}}[5m]))`,
      legend: 'denied',
    }),
    panel(
      'Bytes of responses in progress (max-answer-bytes)',
      'bytes',
      perProcess(`olap_warden_limit_used{${SCOPE},limit="memory"}`),
    ),
    panel('Subjects whose role expires within 24 hours', 'short', {
      expr: `max(olap_warden_role_assignment_subjects_expiring{${SCOPE}})`,
      legend: 'expiring',
    }),
  ],
};

const VIEW: Row = {
  title: 'View of the resources, and configuration',
  panels: [
    panel('Age of the view', 's', perProcess(`olap_warden_store_age_seconds{${SCOPE}}`)),
    panel('View complete (1)', 'short', perProcess(`olap_warden_store_synced{${SCOPE}}`)),
    panel('Configuration file rejected (1)', 'short', perProcess(`olap_warden_config_rejected{${SCOPE}}`)),
  ],
};

const OPERATOR: Row = {
  title: 'Operator',
  panels: [
    panel('Leader (1)', 'short', perProcess(`leader_election_master_status{${SCOPE}}`)),
    panel('Reconciliations', 'ops', rateBy('controller_runtime_reconcile_total', 'controller')),
    panel('Failed reconciliations', 'ops', rateBy('controller_runtime_reconcile_errors_total', 'controller')),
    panel('Objects whose reconciliation fails', 'short', {
      expr: `max by (controller) (olapwarden_operator_failing_objects{${SCOPE}})`,
      legend: '{{controller}}',
    }),
    panel('Depth of the queues', 'short', {
      expr: `max by (controller) (workqueue_depth{${SCOPE}})`,
      legend: '{{controller}}',
    }),
    panel(
      'Time in the queue, 99th percentile',
      's',
      quantileBy(0.99, 'workqueue_queue_duration_seconds', 'controller'),
    ),
    panel(
      'Duration of reconciliations, 99th percentile',
      's',
      quantileBy(0.99, 'controller_runtime_reconcile_time_seconds', 'controller'),
    ),
    panel('Events that were not sent', 'short', {
      expr: `sum(increase(olapwarden_operator_events_dropped_total{${SCOPE}}[1h]))`,
      legend: 'dropped',
    }),
    panel('Outdated definitions (1)', 'short', {
      expr: `max by (kind) (olapwarden_operator_definitions_outdated{${SCOPE}})`,
      legend: '{{kind}}',
    }),
  ],
};

/** Of each address. */
const ofAddress = (expr: string, more = ''): Line => ({
  expr: `sum by (role, address${more && `, ${more}`}) (${expr})`,
  legend: `{{role}} {{address}}${more && ` {{${more}}}`}`,
});

const UPSTREAMS: Row = {
  title: 'Controllers, brokers, other gateways and buckets',
  panels: [
    panel('Requests', 'reqps', ofAddress(`rate(olap_warden_upstream_requests_total{${SCOPE}}[5m])`)),
    panel(
      'Failed requests',
      'reqps',
      ofAddress(`rate(olap_warden_upstream_requests_total{${SCOPE}, outcome!~"ok|aborted"}[5m])`, 'outcome'),
    ),
    panel('Requests sent again', 'reqps', ofAddress(`rate(olap_warden_upstream_retries_total{${SCOPE}}[5m])`)),
    panel('Time until the response, 99th percentile', 's', {
      expr: `histogram_quantile(0.99, sum by (le, role, address) (rate(olap_warden_upstream_request_seconds_bucket{${SCOPE}}[5m])))`,
      legend: '{{role}} {{address}}',
    }),
    panel('Connections in use', 'short', ofAddress(`olap_warden_upstream_connections_used{${SCOPE}}`)),
    panel('Requests that wait for a connection', 'short', ofAddress(`olap_warden_upstream_waiting{${SCOPE}}`)),
    panel('Gateways that avoid the address', 'short', ofAddress(`olap_warden_upstream_suspected{${SCOPE}}`)),
  ],
};

const LIMITS: Row = {
  title: 'Limits',
  panels: [
    panel('Used share of each limit', 'percentunit', {
      expr: `max by (limit) (olap_warden_limit_used{${SCOPE}} / olap_warden_limit_max{${SCOPE}})`,
      legend: '{{limit}}',
    }),
    panel('Open connections', 'short', perProcess(`olap_warden_limit_used{${SCOPE}, limit="connections"}`)),
    panel('Requests that wait', 'short', {
      expr: `sum by (limit) (olap_warden_limit_waiting{${SCOPE}})`,
      legend: '{{limit}}',
    }),
    panel('Refused requests and connections', 'reqps', rateBy('olap_warden_limit_refused_total', 'limit')),
    panel('Wait, 99th percentile', 's', quantileBy(0.99, 'olap_warden_limit_wait_seconds', 'limit')),
  ],
};

const RESULT_STORE: Row = {
  title: 'Result store',
  panels: [
    panel('Stored bytes', 'bytes', perProcess(`olap_warden_pagination_stored_bytes{${SCOPE}}`)),
    panel(
      'Free share of the disk or memory',
      'percentunit',
      perProcess(
        `olap_warden_pagination_store_free_bytes{${SCOPE}} / olap_warden_pagination_store_capacity_bytes{${SCOPE}}`,
      ),
    ),
    panel('Stored results', 'short', perProcess(`olap_warden_pagination_stored_results{${SCOPE}}`)),
    panel('Failed calls of the store', 'ops', rateBy('olap_warden_pagination_store_errors_total', 'operation')),
    panel(
      'Duration of store calls, 99th percentile',
      's',
      quantileBy(0.99, 'olap_warden_pagination_store_duration_seconds', 'operation'),
    ),
    panel('Bytes of pages', 'Bps', {
      expr: `sum(rate(olap_warden_pagination_page_bytes_total{${SCOPE}}[5m]))`,
      legend: 'pages',
    }),
    panel('Scanned bytes of responses of the engine', 'Bps', {
      expr: `sum(rate(olap_warden_pagination_scanned_bytes_total{${SCOPE}}[5m]))`,
      legend: 'scanned',
    }),
    panel(
      'Asynchronous queries that wait or run',
      'short',
      { expr: `sum(olap_warden_pagination_async_queries_waiting{${SCOPE}})`, legend: 'waiting' },
      { expr: `sum(olap_warden_pagination_async_queries_running{${SCOPE}})`, legend: 'running' },
    ),
    panel('Ended asynchronous queries', 'ops', rateBy('olap_warden_pagination_async_queries_total', 'state')),
  ],
};

const PROCESSES: Row = {
  title: 'Processes',
  panels: [
    panel(
      'Delay of the event loop, 99th percentile',
      's',
      // Node's histogram has the time between two timers of 10 ms.
      perProcess(`clamp_min(nodejs_eventloop_lag_p99_seconds{${SCOPE}} - 0.01, 0) ${OF_OLAP_WARDEN}`),
    ),
    panel('CPU', 'short', perProcess(`rate(process_cpu_seconds_total{${SCOPE}}[5m]) ${OF_OLAP_WARDEN}`)),
    panel('Memory', 'bytes', perProcess(`process_resident_memory_bytes{${SCOPE}} ${OF_OLAP_WARDEN}`)),
    panel('Heap in use', 'bytes', perProcess(`nodejs_heap_size_used_bytes{${SCOPE}} ${OF_OLAP_WARDEN}`)),
    panel('Open file descriptors', 'short', perProcess(`process_open_fds{${SCOPE}} ${OF_OLAP_WARDEN}`)),
    panel(
      'Used share of the file descriptors',
      'percentunit',
      perProcess(`process_open_fds{${SCOPE}} / process_max_fds{${SCOPE}} ${OF_OLAP_WARDEN}`),
    ),
    panel(
      'Log lines and audit records that were not written',
      'ops',
      {
        expr: `sum by (pod, instance) (rate(olap_warden_log_dropped_total{${SCOPE}}[5m]))`,
        legend: `${PROCESS} log`,
      },
      {
        expr: `sum by (pod, instance) (rate(olap_warden_audit_failures_total{${SCOPE}}[5m]))`,
        legend: `${PROCESS} audit`,
      },
    ),
    panel('Running since', 'dateTimeFromNow', {
      expr: `max by (pod, instance) (process_start_time_seconds{${SCOPE}} ${OF_OLAP_WARDEN}) * 1000`,
      legend: PROCESS,
    }),
  ],
};

/** The rows of the dashboard about olap-warden itself. */
export const OPERATION_ROWS: readonly Row[] = [REQUESTS, UPSTREAMS, LIMITS, VIEW, OPERATOR, RESULT_STORE, PROCESSES];

const OPERATIONS = 'https://github.com/olap-warden/olap-warden/blob/main/docs/operations.md';

/** @param anchor of a chapter of docs/operations.md */
export const operationsRunbook = (anchor: string): string => `${OPERATIONS}#${anchor}`;

const LABELS = { severity: 'warning', category: 'saturation' } as const;

/** Limits that concern everybody. One that a single caller reaches is the caller's concern. */
const SHARED = 'connections|memory|turns|submissions|long-work|pool';

/** Whether the process is one of olap-warden: other programs have these metrics of Node, too. */
const OF_OLAP_WARDEN = 'and on (namespace, pod, instance) olap_warden_info';

/** Of failed requests: those of the network. A response with an error status may be that of the request. */
const NETWORK = 'refused|timeout|reset|bad-response';

const failing = (matchers: string): string =>
  `sum without (outcome) (rate(olap_warden_upstream_requests_total${matchers}[5m]))`;

/** Alerts about what olap-warden has too little of, and about the servers that it asks. */
export const SATURATION_ALERTS = [
  {
    alert: 'OlapWardenLimitReached',
    // Asynchronous queries have an alert of their own, and run later.
    expr: `(olap_warden_limit_used{limit!="asynchronous-queries"} / olap_warden_limit_max > 0.9) or increase(olap_warden_limit_refused_total{limit=~"${SHARED}"}[5m]) > 0`,
    for: '10m',
    labels: LABELS,
    annotations: {
      summary: 'A gateway reaches the limit {{ $labels.limit }}',
      description:
        'For ten minutes more than nine tenths of this limit have been in use, or requests were refused because of it. Check which callers use it, whether Pinot has become slow, and whether the gateway needs more replicas or a higher limit.',
      runbook_url: operationsRunbook('a-limit-is-reached'),
    },
  },
  {
    alert: 'OlapWardenUpstreamWaits',
    expr: 'olap_warden_upstream_waiting > 0',
    for: '5m',
    labels: LABELS,
    annotations: {
      summary: 'Requests wait for a connection to {{ $labels.role }} {{ $labels.address }}',
      description:
        'For five minutes all connections of this gateway to the address have been in use. Most often the server has become slow, or one caller has many long queries.',
      runbook_url: operationsRunbook('requests-wait-for-an-upstream'),
    },
  },
  {
    alert: 'OlapWardenUpstreamFails',
    expr: `${failing(`{outcome=~"${NETWORK}"}`)} / ${failing('')} > 0.25`,
    for: '10m',
    labels: LABELS,
    annotations: {
      summary: 'Requests to {{ $labels.role }} {{ $labels.address }} fail',
      description:
        'For ten minutes more than a quarter of the requests to this address got no valid response. Other addresses are tried first. The outcomes of `olap_warden_upstream_requests_total` say what fails.',
      runbook_url: operationsRunbook('an-upstream-fails'),
    },
  },
  {
    alert: 'OlapWardenLoopDelayed',
    // Node's histogram has the time between two timers of 10 ms.
    expr: `nodejs_eventloop_lag_p99_seconds - 0.01 > 0.25 ${OF_OLAP_WARDEN}`,
    for: '5m',
    labels: LABELS,
    annotations: {
      summary: 'The event loop of a process of olap-warden is delayed',
      description:
        'For five minutes one in a hundred turns has come more than 250 ms late, so all requests of this process are slower. Check its CPU and its limit, and give it more CPU or more replicas.',
      runbook_url: operationsRunbook('the-event-loop-is-delayed'),
    },
  },
  {
    alert: 'OlapWardenResultStoreFull',
    expr: 'olap_warden_pagination_store_free_bytes / olap_warden_pagination_store_capacity_bytes < 0.1',
    for: '5m',
    labels: LABELS,
    annotations: {
      summary: 'The result store of a gateway is nearly full',
      description:
        'Less than a tenth of the space for results is free. Without space paginated queries get 507; others are not affected.',
      runbook_url: operationsRunbook('the-result-store-is-full'),
    },
  },
];

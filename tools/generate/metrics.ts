import { Gauge, Registry } from 'prom-client';
import { LimitMetrics } from '../../src/api/server/admission/limit-metrics.ts';
import {
  countDecisions,
  countRejects,
  countReloads,
  createRegistry,
  observeRejectedConfig,
  observeRequests,
  observeStore,
} from '../../src/api/server/metrics.ts';
import { auditMetrics } from '../../src/app/parts/audit.ts';
import { DEFINITIONS_METRIC } from '../../src/app/parts/definitions.ts';
import { observeIssuerKeys } from '../../src/app/parts/oidc.ts';
import { healthMetrics } from '../../src/health/metrics.ts';
import { observeConditions } from '../../src/operator/reconcilers/conditions-metric.ts';
import { observeExpiries } from '../../src/operator/reconcilers/expiry-metrics.ts';
import { prometheusMetrics } from '../../src/operator/metrics.ts';
import { resultCleanerMetrics } from '../../src/operator/result-cleaner.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { observeUpstreams } from '../../src/platform/upstream-metrics.ts';
import { countDroppedLines } from '../../src/platform/log-output.ts';
import { countUnhandledErrors } from '../../src/platform/process-errors.ts';
import { observeSpace, prometheusQueryMetrics } from '../../src/results/metrics.ts';
import type { GeneratedFiles } from './generator.ts';

const HEAD = `<!-- Generated from the metrics that the program registers by \`make generate\`; do not edit. -->
# Metrics

\`GET /metrics\` on the metrics port (9090) of each process has these metrics, in the text format of Prometheus, and those of Node (\`process_*\`, \`nodejs_*\`) from
[prom-client](https://github.com/siimon/prom-client), unless the setting \`node-metrics\` is \`false\`: \`promtool check metrics\` criticizes some of them, and none of the others. \`standalone\` has those of both processes, without \`olap_warden_pagination_cleaner_*\` and
\`olapwarden_operator_definitions_outdated\`, which are about other processes. No label has a value that a caller chooses, so the number of series does not depend on requests.
The [alerts](operations.md) and the dashboards of the [chart](../charts/olap-warden/README.md) use them.
`;

const NO_CALL = (): never => {
  throw new Error('metrics are not collected here');
};

interface Chapter {
  readonly title: string;
  readonly text: string;
  readonly register: (registry: Registry) => void;
}

/** The metrics by the process that exports them. A metric that is missing here fails test/integration/monitoring/metrics.test.ts. */
const CHAPTERS: readonly Chapter[] = [
  {
    title: 'Every process',
    text: 'Of `gateway` and `operator`.',
    register: (registry) => {
      observeRejectedConfig(registry, NO_CALL);
      countReloads(registry);
      countUnhandledErrors(registry);
      countDroppedLines(registry);
      observeStore(registry, NO_CALL);
    },
  },
  {
    title: 'Every process: requests to other servers',
    text: 'By `role`, which is `controller`, `broker`, `gateway` or `store` (a bucket), and by `address`, which is `host:port`. An address without a request for an hour is gone, and has no series; there are at most 2,000. Health checks of servers are in `olap_warden_health_engine_calls_total` instead.',
    register: (registry) => void observeUpstreams(registry, systemClock),
  },
  {
    title: 'Gateway: requests and decisions',
    text: 'A request is counted by the pattern of its route, not by its path.',
    register: (registry) => {
      observeRequests(registry);
      new LimitMetrics(registry).watch();
      countRejects(registry);
      observeIssuerKeys(registry, NO_CALL);
      auditMetrics(registry);
      countDecisions(registry, {
        isAllowed: NO_CALL,
        wouldAllow: NO_CALL,
        reading: NO_CALL,
        decide: NO_CALL,
        hasConditions: NO_CALL,
        isActive: NO_CALL,
      });
    },
  },
  {
    title: 'Gateway: paginated queries',
    text: 'See [paginated queries](paginated-queries.md).',
    register: (registry) => {
      prometheusQueryMetrics(registry);
      observeSpace(registry, NO_CALL);
    },
  },
  {
    title: 'Operator: health checks',
    text: 'The leading operator alone exports the values of the reports, so that each series exists once. See [health checks](checks/README.md).',
    register: (registry) => void healthMetrics(registry, NO_CALL),
  },
  {
    title: 'Operator: access',
    text: 'Of the leading operator.',
    register: (registry) => {
      observeExpiries(registry, NO_CALL, systemClock);
      observeConditions(registry, NO_CALL);
    },
  },
  {
    title: 'Operator: deletion of expired results',
    text: 'Of the leading operator.',
    register: (registry) => void resultCleanerMetrics(registry),
  },
  {
    title: 'Operator: reconciliation',
    text: 'The names are those of controller-runtime and client-go, so that their dashboards and alerts work.',
    register: (registry) => {
      prometheusMetrics(registry);
      registry.registerMetric(new Gauge({ ...DEFINITIONS_METRIC, registers: [] }));
    },
  },
];

/** Generates docs/metrics.md: all metrics with type, labels and meaning. */
export function generateMetrics(): GeneratedFiles {
  const info = createRegistry('', '');
  const first = rowOf(info.getSingleMetric('olap_warden_info')!);
  const chapters = CHAPTERS.map(({ title, text, register }, index) => {
    const registry = new Registry();
    register(registry);
    const rows = [...(index === 0 ? [first] : []), ...registry.getMetricsAsArray().map((metric) => rowOf(metric))];
    const table = ['| metric | type | labels | meaning |', '|---|---|---|---|', ...rows.toSorted()].join('\n');
    return `\n## ${title}\n\n${text}\n\n${table}\n`;
  });
  return new Map([['docs/metrics.md', `${HEAD}${chapters.join('')}`]]);
}

function rowOf(metric: object): string {
  // prom-client has `type` and `labelNames` in its objects, but not in its types.
  const { name, help, type, labelNames } = metric as Record<'name' | 'help' | 'type', string> & {
    labelNames: string[];
  };
  const labels = labelNames.map((label) => `\`${label}\``).join(', ');
  return `| \`${name}\` | ${type} | ${labels} | ${help} |`;
}

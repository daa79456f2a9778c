import type { CauseKind } from '../../resources/health-cause.ts';

/** The name of a check's alert: `IDEAL_STATE_EV_MISMATCH_CHECK` → `OlapIdealStateEvMismatch`. */
export function alertName(check: string): string {
  const words = check.replace(/(_HEALTH)?_CHECK$/, '').split('_');
  return `Olap${words.map((word) => word.charAt(0) + word.slice(1).toLowerCase()).join('')}`;
}

/** The alerts about checks that three runs in a row could not evaluate. */
export const CRITICAL_NOT_EVALUATED = 'OlapHealthCriticalChecksNotEvaluated';
export const NOT_EVALUATED = 'OlapHealthChecksNotEvaluated';
/** Runs in a row without a result before these alerts fire. */
export const NOT_EVALUATED_RUNS = 3;

/** Pages of the checks. */
export const RUNBOOKS = 'https://github.com/olap-warden/olap-warden/blob/main/docs/checks';

/** The page of the causes, with a chapter for each kind. */
export const CAUSES_PAGE = 'CAUSES';

/** What an alert of a cause is about, what to do, and its title. */
export interface CauseText {
  readonly title: string;
  readonly remedy: string;
}

export const CAUSE_TEXTS: Readonly<Record<CauseKind, CauseText>> = {
  'instance-down': {
    title: 'An instance is down',
    remedy: 'Start its process, or look in its log why it ends; check its node, its disk and its way to ZooKeeper.',
  },
  'instance-disabled': {
    title: 'An instance is disabled',
    remedy: 'Enable it with PUT /instances/{name}/state?state=enable, or rebalance its tables and remove it.',
  },
  'instance-starting': {
    title: 'An instance is starting',
    remedy: 'Wait until it has loaded its segments. If it joins again and again, look in its log why it ends.',
  },
  'instance-unresponsive': {
    title: 'An instance does not respond',
    remedy: 'Take a thread dump, look in its log, then restart it; check network policies if its log is quiet.',
  },
  'disk-full': {
    title: 'The disk of a server is full',
    remedy: 'Enlarge the disk, or move segments away: add servers and rebalance, or shorten the retention.',
  },
  'tenant-without-servers': {
    title: 'A tenant has no server',
    remedy: 'Start its servers, or give a server the tag with PUT /instances/{name}/updateTags.',
  },
  'tenant-without-brokers': {
    title: 'A tenant has no broker',
    remedy: 'Start its brokers, or give a broker the tag with PUT /instances/{name}/updateTags.',
  },
  'table-incomplete': {
    title: 'A part of a table is missing',
    remedy: 'Create the missing part again, or delete the remains of the table; TABLE_CONSISTENCY_CHECK names it.',
  },
  'table-rebalancing': {
    title: 'A table is being rebalanced',
    remedy:
      'Wait until the rebalance ends; GET /table/{table}/jobs shows its state. Start one that makes no progress again.',
  },
  'table-unserved': {
    title: 'Segments of a table have no online replica',
    remedy:
      'Look up the segments in the log of their servers, remove the error, then POST /segments/{table}/{segment}/reset.',
  },
  'ingestion-paused': {
    title: 'Pinot paused the consumption of a table',
    remedy: 'Remove what Pinot names as the reason, then POST /tables/{table}/resumeConsumption.',
  },
};

/** The name of the alert of a kind of cause: `instance-down` → `OlapCauseInstanceDown`. */
export function causeAlertName(kind: CauseKind): string {
  return `OlapCause${kind
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')}`;
}

/** The chapter of a kind of cause: that of its title. */
export function causeRunbook(kind: CauseKind): string {
  return `${RUNBOOKS}/${CAUSES_PAGE}.md#${CAUSE_TEXTS[kind].title.toLowerCase().replaceAll(' ', '-')}`;
}

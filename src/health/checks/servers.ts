import type { CheckInput, CheckOutcome } from '../check.ts';
import { counted, enabledTables, entityFinding, Findings, have } from '../outcome.ts';
import type { ClusterSnapshot, Instance, TableSnapshot } from '../snapshot.ts';
import { documentsByServer, loadByServer } from '../loads.ts';

const NO_SERVERS = 'not applicable: no server holds a segment';

export function instanceHealth({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const instances = findings.value(snapshot.instances, 'cluster', snapshot.clusterName, 'the instances') ?? [];
  for (const instance of instances) {
    if ((instance.type !== 'server' && instance.type !== 'broker') || !instance.enabled) continue;
    findings.examined();
    healthOf(instance, snapshot, findings);
  }
  return findings.outcome({
    pass: 'every enabled server and broker answers that it is healthy',
    fail: (count) => `${counted(count, 'instance')} ${count === 1 ? 'is' : 'are'} not live`,
    notApplicable: 'not applicable: the cluster has no enabled server or broker',
  });
}

function healthOf(instance: Instance, snapshot: ClusterSnapshot, findings: Findings): void {
  const { id, type } = instance;
  const health = snapshot.instanceHealth.get(id);
  if (health === undefined) {
    findings.couldNotRead(type, id, 'its health', 'its configuration names no port that could be asked');
  } else if (health.unreachable && instance.live) {
    // Seen by ZooKeeper, not by us: a network between, or a process that hangs. Which of them cannot be told from here.
    findings.add(
      entityFinding(
        type,
        id,
        `\`${health.url}\` did not answer (${health.detail}), though ZooKeeper has the instance as live: it hangs, or it cannot be reached from here`,
        'no answer',
        'OK',
      ),
    );
  } else if (!health.healthy) {
    const message = health.unreachable
      ? `the instance is not live: \`${health.url}\` did not answer (${health.detail})`
      : `\`${health.url}\` answered \`${health.detail}\``;
    findings.add(entityFinding(type, id, message, health.unreachable ? 'no answer' : health.detail, 'OK'));
  }
}

interface ServerLimit {
  readonly limit: number;
  readonly noun: string;
}

function aboveLimit(
  counts: ReadonlyMap<string, number>,
  { limit, noun }: ServerLimit,
  findings: Findings,
): CheckOutcome {
  for (const [server, count] of counts) {
    findings.examined();
    if (count <= limit) continue;
    const observed = counted(count, noun);
    findings.add(entityFinding('server', server, `the server hosts ${observed}`, observed, `at most ${limit}`));
  }
  return findings.outcome({
    pass: `no server hosts more than ${limit} ${noun}s`,
    fail: (count) => `${counted(count, 'server')} ${count === 1 ? 'hosts' : 'host'} more than ${limit} ${noun}s`,
    notApplicable: NO_SERVERS,
  });
}

export function highSegments({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const loads = loadByServer(snapshot, findings);
  return aboveLimit(loads.segments, { limit: thresholds.maxSegments ?? 0, noun: 'segment' }, findings);
}

export function highConsuming({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const loads = loadByServer(snapshot, findings);
  const limit = thresholds.maxConsumingSegments ?? 0;
  return aboveLimit(loads.consuming, { limit, noun: 'consuming segment' }, findings);
}

export function highTables({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const loads = loadByServer(snapshot, findings);
  return aboveLimit(loads.tables, { limit: thresholds.maxTables ?? 0, noun: 'table' }, findings);
}

export function highDocuments({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const tables: readonly TableSnapshot[] = enabledTables(snapshot, findings);
  const documents = documentsByServer(tables, findings);
  return aboveLimit(documents, { limit: thresholds.maxDocuments ?? 0, noun: 'document' }, findings);
}

export function hostNameMismatch({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const instances = findings.value(snapshot.instances, 'cluster', snapshot.clusterName, 'the instances') ?? [];
  for (const instance of instances) {
    if (instance.type === 'other') continue;
    findings.examined();
    const expected = derivedName(instance);
    if (expected === instance.id) continue;
    findings.add(
      entityFinding(
        instance.type,
        instance.id,
        `its configured host and port give the name \`${expected}\``,
        instance.id,
        expected,
      ),
    );
  }
  return findings.outcome({
    pass: 'the id of every instance follows from its host and port',
    fail: (count) => have(count, 'instance', 'an id that does not follow from its host and port'),
    notApplicable: 'not applicable: the cluster has no instance',
  });
}

/** `<Type>_<host>_<port>`; some releases of the engine write the type into the host as well. */
function derivedName(instance: Instance): string {
  const prefix = `${instance.type.charAt(0).toUpperCase()}${instance.type.slice(1)}_`;
  const host = instance.host.startsWith(prefix) ? instance.host.slice(prefix.length) : instance.host;
  return `${prefix}${host}_${instance.port}`;
}

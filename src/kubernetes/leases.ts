import type { KubernetesTransport } from './transport.ts';
import { StoreError } from '../store/resource-store.ts';
import { kubernetesMicroTime } from '../resources/time.ts';

/** The fields of a coordination.k8s.io Lease that leader election uses. */
export interface LeaseRecord {
  /** Undefined before the lease is created. */
  readonly resourceVersion: string | undefined;
  /** Identity of the holder; empty if there is none. */
  readonly holder: string;
  readonly durationSeconds: number;
  /** Milliseconds since the epoch, by the holder's clock. */
  readonly acquiredAt: number;
  /** Milliseconds since the epoch, by the holder's clock. */
  readonly renewedAt: number;
  /** Number of changes of the holder. */
  readonly transitions: number;
}

/** Storage of the lease. Each call ends within `timeoutMs`. @throws {StoreError} conflict, already-exists, unavailable … */
export interface Leases {
  read(timeoutMs: number, signal: AbortSignal): Promise<LeaseRecord | undefined>;
  /** Creates the lease if the record has no resourceVersion, else replaces that version. */
  write(record: LeaseRecord, timeoutMs: number, signal: AbortSignal): Promise<LeaseRecord>;
}

interface LeaseObject {
  readonly apiVersion: 'coordination.k8s.io/v1';
  readonly kind: 'Lease';
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion?: string };
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

/** The Lease `name` in the transport's namespace. Requests are not retried: the elector does that. */
export function kubernetesLeases(transport: KubernetesTransport, name: string): Leases {
  const { namespace } = transport;
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const path = `${collection}/${encodeURIComponent(name)}`;
  return {
    async read(timeoutMs, signal) {
      try {
        return toRecord((await transport.request<LeaseObject>('GET', path, { timeoutMs, signal, retries: 0 })).body);
      } catch (error) {
        if (error instanceof StoreError && error.code === 'not-found') return undefined;
        throw error;
      }
    },
    async write(record, timeoutMs, signal) {
      const body = toLease(record, name, namespace);
      const isNew = record.resourceVersion === undefined;
      const { body: stored } = await transport.request<LeaseObject>(isNew ? 'POST' : 'PUT', isNew ? collection : path, {
        body,
        timeoutMs,
        signal,
        retries: 0,
      });
      return toRecord(stored);
    },
  };
}

function toLease(record: LeaseRecord, name: string, namespace: string): LeaseObject {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name,
      namespace,
      ...(record.resourceVersion === undefined ? {} : { resourceVersion: record.resourceVersion }),
    },
    spec: {
      holderIdentity: record.holder,
      leaseDurationSeconds: record.durationSeconds,
      acquireTime: kubernetesMicroTime(record.acquiredAt),
      renewTime: kubernetesMicroTime(record.renewedAt),
      leaseTransitions: record.transitions,
    },
  };
}

function toRecord({ metadata, spec }: LeaseObject): LeaseRecord {
  return {
    resourceVersion: metadata.resourceVersion,
    holder: spec.holderIdentity ?? '',
    durationSeconds: spec.leaseDurationSeconds ?? 0,
    acquiredAt: epochMs(spec.acquireTime),
    renewedAt: epochMs(spec.renewTime),
    transitions: spec.leaseTransitions ?? 0,
  };
}

function epochMs(time: string | undefined): number {
  return time === undefined ? 0 : Date.parse(time);
}

import type { Logger } from 'pino';
import { errorMessage } from '../platform/plain-error.ts';
import type { Clock } from '../platform/clock.ts';
import { ExpiringLruCache } from '../platform/lru.ts';
import { LOG_LIMITS, RateLimiter, type RateLimiterOptions } from '../platform/rate-limiter.ts';
import type { ObjectMeta } from '../resources/meta.ts';
import { kubernetesMicroTime } from '../resources/time.ts';
import type { KubernetesTransport } from './transport.ts';

/** The object that an Event regards. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<ObjectMeta>;
}

/** Records Kubernetes Events, which `kubectl describe` shows. Calls never block and never fail. */
export interface EventRecorder {
  /** Sends the Event, unless too many of its type, kind and reason were sent: see `RATES`. */
  record(subject: EventSubject, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Sends pending Events for at most three seconds; drops and counts the rest. */
  close(): Promise<void>;
}

/** Drops all Events: for standalone mode, without a Kubernetes API. */
export const NO_EVENTS: EventRecorder = { record: () => {}, close: async () => {} };

export interface EventRecorderPorts {
  readonly transport: KubernetesTransport;
  readonly clock: Clock;
  /** Called for each Event that is not sent: too many with its reason, the queue is full, or the API server rejects it. */
  readonly onDropped: () => void;
  readonly log: Logger;
  /** `reportingInstance` of the Events: the name of this process. */
  readonly instance: string;
}

/** A repeated Event within this time increases the count of its series (as in client-go's correlator). */
const SERIES_MS = 6 * 60_000;
/** Limits of pending Events and of known series, which bound the memory. */
const MAX_PENDING = 1_000;
const MAX_SERIES = 1_000;
/**
 * Limits of new Events of one type, kind and reason, over all objects. When thousands of objects are applied at once, each has its status;
 * thousands of Events would delay the status writes and fill etcd. All checks of a health report can fail at once.
 */
const RATES: Readonly<Record<Pending['type'], RateLimiterOptions>> = {
  Normal: { burst: 20, intervalMs: 60_000, maxKeys: 256 },
  Warning: { burst: 40, intervalMs: 60_000, maxKeys: 256 },
};
const SEND_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 3_000;
/** The API server's limit. */
const MAX_NOTE = 1_024;

interface EventSeries {
  /** Name of the Event. */
  readonly name: string;
  readonly count: number;
}

interface Pending {
  readonly subject: EventSubject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
}

/** Sends Events of events.k8s.io/v1 in the background, one after the other, Warnings first. */
export class KubernetesEvents implements EventRecorder {
  readonly #ports: EventRecorderPorts;
  readonly #path: string;
  readonly #pending = { Warning: new Map<string, Pending>(), Normal: new Map<string, Pending>() };
  readonly #rates: Readonly<Record<Pending['type'], RateLimiter>>;
  readonly #logLines: RateLimiter;
  readonly #series: ExpiringLruCache<string, EventSeries>;
  #sending: Promise<void> | undefined;
  readonly #closing = new AbortController();
  #counter = 0;

  constructor(ports: EventRecorderPorts) {
    this.#ports = ports;
    this.#series = new ExpiringLruCache(ports.clock, MAX_SERIES);
    this.#rates = {
      Normal: new RateLimiter(ports.clock, RATES.Normal),
      Warning: new RateLimiter(ports.clock, RATES.Warning),
    };
    this.#logLines = new RateLimiter(ports.clock, LOG_LIMITS);
    this.#path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(ports.transport.namespace)}/events`;
  }

  record(subject: EventSubject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const note = message.slice(0, MAX_NOTE);
    const key = JSON.stringify([subject.metadata.uid, type, reason, note]);
    const pending = this.#pending[type];
    if (!pending.has(key)) {
      // A repetition of a known Event only increases its count.
      const repeated = this.#series.get(key) !== undefined;
      if (!repeated && this.#rates[type].admit(`${subject.kind} ${reason}`) === undefined) {
        this.#drop(reason, `more than ${RATES[type].burst} objects have it; see their status`);
        return;
      }
      if (!this.#makeRoom(type)) {
        this.#drop(reason, `more than ${MAX_PENDING} pending events`);
        return;
      }
    }
    pending.set(key, { subject, type, reason, note });
    this.#sending ??= this.#sendAll();
  }

  async close(): Promise<void> {
    const cancel = this.#ports.clock.schedule(() => {
      this.#closing.abort(new Error('the operator is stopping'));
    }, CLOSE_TIMEOUT_MS);
    await this.#sending;
    cancel();
  }

  /** Makes room for one more pending Event: a Warning replaces the oldest Normal. @returns whether there is room */
  #makeRoom(type: Pending['type']): boolean {
    const { Warning: warnings, Normal: normals } = this.#pending;
    if (warnings.size + normals.size < MAX_PENDING) return true;
    const [oldest] = normals;
    if (type === 'Normal' || oldest === undefined) return false;
    const [key, { reason }] = oldest;
    normals.delete(key);
    this.#drop(reason, `more than ${MAX_PENDING} pending events`);
    return true;
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [key, pending] = next;
      this.#pending[pending.type].delete(key);
      try {
        this.#closing.signal.throwIfAborted();
        await this.#send(key, pending);
      } catch (error) {
        this.#drop(pending.reason, errorMessage(error));
      }
    }
    this.#sending = undefined;
  }

  #next(): [key: string, pending: Pending] | undefined {
    const { Warning: warnings, Normal: normals } = this.#pending;
    for (const entry of warnings.size > 0 ? warnings : normals) return entry;
    return undefined;
  }

  async #send(key: string, pending: Pending): Promise<void> {
    const { transport, clock } = this.#ports;
    const known = this.#series.get(key);
    // After a failure the next repetition is sent as a new Event: the known one may no longer exist.
    this.#series.delete(key);
    const series = known ? { ...known, count: known.count + 1 } : { name: this.#nameFor(pending.subject), count: 1 };
    const limits = { timeoutMs: SEND_TIMEOUT_MS, signal: this.#closing.signal };
    if (known) {
      await transport.request('PATCH', `${this.#path}/${encodeURIComponent(series.name)}`, {
        body: { series: { count: series.count, lastObservedTime: kubernetesMicroTime(clock.now()) } },
        contentType: 'application/merge-patch+json',
        ...limits,
      });
    } else {
      await transport.request('POST', this.#path, { body: this.#event(series.name, pending), ...limits });
    }
    this.#series.set(key, series, SERIES_MS);
  }

  /** A name as client-go gives it: the object's name and a unique number. */
  #nameFor(subject: EventSubject): string {
    this.#counter++;
    const unique = (this.#ports.clock.now() * 1000 + (this.#counter % 1000)).toString(16);
    return `${subject.metadata.name.slice(0, 230)}.${unique}`;
  }

  #event(name: string, { subject, type, reason, note }: Pending): object {
    const { apiVersion, kind, metadata } = subject;
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace: this.#ports.transport.namespace },
      eventTime: kubernetesMicroTime(this.#ports.clock.now()),
      reportingController: 'olapwarden.io/operator',
      reportingInstance: this.#ports.instance.slice(0, 128),
      action: 'Reconcile',
      reason,
      note,
      type,
      regarding: {
        // `kubectl events --for` compares it with the version that kubectl uses.
        apiVersion,
        kind,
        name: metadata.name,
        namespace: metadata.namespace ?? this.#ports.transport.namespace,
        uid: metadata.uid,
        resourceVersion: metadata.resourceVersion,
      },
    };
  }

  #drop(reason: string, error: string): void {
    this.#ports.onDropped();
    const suppressed = this.#logLines.admit(error);
    if (suppressed !== undefined) this.#ports.log.warn({ reason, error, suppressed }, 'event dropped');
  }
}

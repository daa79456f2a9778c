import type { Logger } from 'pino';
import type { ObjectMeta } from '../resources/meta.ts';
import type { KubernetesTransport } from '../store/kubernetes/transport.ts';
import type { OperatorClock } from './clock.ts';
import { microTime } from './lease-client.ts';
import type { OperatorMetrics } from './metrics.ts';

/** The object that an Event is about. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<ObjectMeta>;
}

/** Tells people what happened to an object: `kubectl describe` shows it. Never blocks and never fails. */
export interface EventRecorder {
  record(subject: EventSubject, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Sends what waits, for three seconds at most; what is left then is dropped and counted. */
  close(): Promise<void>;
}

/** Where there is no Kubernetes API, Events have no place to go. */
export const NO_EVENTS: EventRecorder = { record: () => {}, close: async () => {} };

export interface EventRecorderPorts {
  readonly transport: KubernetesTransport;
  readonly clock: OperatorClock;
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
  /** Name of this process, for `reportingInstance`. */
  readonly instance: string;
}

/** As client-go's correlator: the same Event within this time is counted up, not sent again as another. */
const SERIES_MS = 6 * 60_000;
/** Events that wait for the API server, and series that are remembered. More would only be memory. */
const MAX_PENDING = 1_000;
const MAX_SERIES = 1_000;
const SEND_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 3_000;
/** The API server refuses a longer note. */
const MAX_NOTE = 1_024;

interface Series {
  readonly name: string;
  count: number;
  lastAt: number;
}

interface Pending {
  readonly subject: EventSubject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
}

/** Events of events.k8s.io/v1, sent one after the other in the background. */
export class KubernetesEvents implements EventRecorder {
  readonly #ports: EventRecorderPorts;
  readonly #path: string;
  readonly #pending = new Map<string, Pending>();
  /** In the order of their last use, so that the first is the one to forget. */
  readonly #series = new Map<string, Series>();
  #sending: Promise<void> | undefined;
  readonly #closing = new AbortController();
  #counter = 0;

  constructor(ports: EventRecorderPorts) {
    this.#ports = ports;
    this.#path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(ports.transport.namespace)}/events`;
  }

  record(subject: EventSubject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const note = message.slice(0, MAX_NOTE);
    const key = JSON.stringify([subject.metadata.uid, type, reason, note]);
    if (!this.#pending.has(key) && this.#pending.size >= MAX_PENDING) {
      this.#drop(reason, 'too many events wait');
      return;
    }
    this.#pending.set(key, { subject, type, reason, note });
    this.#sending ??= this.#sendAll();
  }

  async close(): Promise<void> {
    const cancel = this.#ports.clock.schedule(() => {
      this.#closing.abort(new Error('the operator is stopping'));
    }, CLOSE_TIMEOUT_MS);
    await this.#sending;
    cancel();
  }

  async #sendAll(): Promise<void> {
    for (const [key, pending] of this.#pending) {
      this.#pending.delete(key);
      try {
        this.#closing.signal.throwIfAborted();
        await this.#send(key, pending);
      } catch (error) {
        this.#drop(pending.reason, (error as Error).message);
      }
    }
    this.#sending = undefined;
  }

  async #send(key: string, pending: Pending): Promise<void> {
    const { transport, clock } = this.#ports;
    const series = this.#series.get(key);
    this.#series.delete(key);
    if (series && clock.now() - series.lastAt < SERIES_MS) {
      series.count++;
      series.lastAt = clock.now();
      const body = { series: { count: series.count, lastObservedTime: microTime(new Date(series.lastAt)) } };
      await transport.request('PATCH', `${this.#path}/${encodeURIComponent(series.name)}`, {
        body,
        contentType: 'application/merge-patch+json',
        timeoutMs: SEND_TIMEOUT_MS,
        signal: this.#closing.signal,
      });
      this.#remember(key, series);
      return;
    }
    const name = this.#nameFor(pending.subject);
    await transport.request('POST', this.#path, {
      body: this.#event(name, pending),
      timeoutMs: SEND_TIMEOUT_MS,
      signal: this.#closing.signal,
    });
    this.#remember(key, { name, count: 1, lastAt: clock.now() });
  }

  #remember(key: string, series: Series): void {
    this.#series.set(key, series);
    const oldest = this.#series.keys().next().value;
    if (this.#series.size > MAX_SERIES && oldest !== undefined) this.#series.delete(oldest);
  }

  /** As client-go names them: the object, and a number that no other event has. */
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
      eventTime: microTime(new Date(this.#ports.clock.now())),
      reportingController: 'olapwarden.io/operator',
      reportingInstance: this.#ports.instance.slice(0, 128),
      action: 'Reconcile',
      reason,
      note,
      type,
      regarding: {
        apiVersion,
        kind,
        name: metadata.name,
        namespace: metadata.namespace ?? this.#ports.transport.namespace,
        uid: metadata.uid,
        resourceVersion: metadata.resourceVersion,
      },
    };
  }

  #drop(reason: string, why: string): void {
    this.#ports.metrics.eventDropped();
    this.#ports.log.warn({ reason, error: why }, 'an event was not sent');
  }
}

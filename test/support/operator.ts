import { KubeConfig } from '@kubernetes/client-node';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { prometheusMetrics } from '../../src/operator/metrics.ts';
import { startOperator, type Operator, type OperatorOptions } from '../../src/operator/operator.ts';
import { KubernetesStore } from '../../src/kubernetes/kubernetes-store.ts';
import { KubernetesTransport } from '../../src/kubernetes/transport.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

/** A store on a real kube-apiserver, with the rights of a kubeconfig. */
export interface Connection {
  readonly transport: KubernetesTransport;
  readonly store: KubernetesStore;
  /** Errors from which the store recovered, such as a failed list. */
  readonly errors: Error[];
  close(): Promise<void>;
}

export function connect(kubeconfigPath: string, namespace: string): Connection {
  const load = (): KubeConfig => {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfigPath);
    return config;
  };
  const errors: Error[] = [];
  const transport = new KubernetesTransport(load, { namespace });
  const store = new KubernetesStore({ transport, onError: (error) => errors.push(error as Error) });
  return {
    transport,
    store,
    errors,
    async close() {
      await store.close();
      await transport.close();
    },
  };
}

export interface RunningOperator extends Connection {
  readonly operator: Operator;
  readonly registry: Registry;
  /** Stops the operator and closes its connection. */
  stop(): Promise<void>;
}

/** An operator in this process, against a real kube-apiserver. */
export function runOperator(
  kubeconfigPath: string,
  namespace: string,
  options: Partial<OperatorOptions> = {},
): RunningOperator {
  const connection = connect(kubeconfigPath, namespace);
  const registry = new Registry();
  const operator = startOperator({
    store: connection.store,
    transport: connection.transport,
    metrics: prometheusMetrics(registry),
    log: pino({ level: 'silent' }),
    ...options,
  });
  return {
    ...connection,
    operator,
    registry,
    async stop() {
      await operator.stop();
      await connection.close();
    },
  };
}

/** Repeats a request until its response is as expected. @throws with the last response after the time limit */
export async function eventually<T>(ask: () => T | Promise<T>, wanted: (answer: T) => boolean): Promise<T> {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (Date.now() > deadline)
      throw new Error(`not as expected within ${WAIT_LIMIT_MS} ms; last: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

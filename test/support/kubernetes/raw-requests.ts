import { KubeConfig } from '@kubernetes/client-node';
import { KubernetesApiError } from '../../../src/kubernetes/api-error.ts';
import { KubernetesTransport, type HttpMethod } from '../../../src/kubernetes/transport.ts';

export interface RawAnswer {
  readonly ok: boolean;
  readonly status: number;
  /** Of the refusal; empty for a success. */
  readonly message: string;
  readonly body: unknown;
}

/** Requests that kubectl does not send, and without the time that it takes to start. */
export interface RawRequests {
  /** @param path with the query. A refusal is an answer; no answer is an error. */
  send(method: HttpMethod, path: string, body?: unknown, contentType?: string): Promise<RawAnswer>;
  close(): Promise<void>;
}

export function rawRequests(kubeconfigPath: string, namespace: string): RawRequests {
  const load = (): KubeConfig => {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfigPath);
    return config;
  };
  const transport = new KubernetesTransport(load, { namespace });
  return {
    async send(method, address, body, contentType) {
      const { pathname, searchParams } = new URL(address, 'http://localhost');
      const query = Object.fromEntries(searchParams);
      const type = contentType === undefined ? {} : { contentType };
      try {
        const answer = await transport.request(method, pathname, { query, body, timeoutMs: 60_000, ...type });
        return { ok: true, status: answer.status, message: '', body: answer.body };
      } catch (error) {
        if (!(error instanceof KubernetesApiError) || error.status === 0) throw error;
        return { ok: false, status: error.status, message: error.message, body: undefined };
      }
    },
    close: () => transport.close(),
  };
}

import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { KubeConfig } from '@kubernetes/client-node';
import { KubernetesApiError } from '../../../src/kubernetes/api-error.ts';
import { KubernetesTransport, type HttpMethod } from '../../../src/kubernetes/transport.ts';
import { once } from '../once.ts';
import { within } from '../until.ts';

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

/** The complete response to a request with any body, sent as it stands. `warnings`: the texts of its headers `Warning`. */
export async function sendText(
  kubeconfigPath: string,
  request: { method: string; path: string; contentType?: string; body?: string },
): Promise<{ status: number; text: string; warnings: string[] }> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfigPath);
  const { server = '', caData = '' } = config.getCurrentCluster() ?? {};
  const headers = {
    authorization: `Bearer ${config.getCurrentUser()?.token}`,
    ...(request.contentType === undefined ? {} : { 'content-type': request.contentType }),
  };
  const { method, path, body } = request;
  const sent = httpsRequest(new URL(path, server), { method, headers, ca: Buffer.from(caData, 'base64') });
  const received = once(sent, 'response');
  sent.end(body);
  const [response] = (await received) as [IncomingMessage];
  const warnings = (response.headersDistinct['warning'] ?? []).map(warningText);
  return { status: response.statusCode ?? 0, text: await within(`${method} ${path}`, text(response)), warnings };
}

/** The text of `299 - "text"`. Node reads the bytes of a header as Latin-1. */
function warningText(header: string): string {
  const quoted = Buffer.from(header, 'latin1').toString('utf8').slice('299 - "'.length, -1);
  return quoted.replaceAll(/\\(.)/g, '$1');
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

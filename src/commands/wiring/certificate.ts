import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Settings } from '../../config/schema.ts';
import { renewCertificate } from '../../http/server.ts';

export interface KeyPair {
  readonly key: Buffer;
  readonly cert: Buffer;
}

const INTERVAL_MS = 10_000;

/** Undefined where the settings name no certificate. @throws {Error} where its files cannot be read */
export async function readCertificate(settings: Settings): Promise<KeyPair | undefined> {
  const certFile = settings['tls-cert-file'];
  const keyFile = settings['tls-key-file'];
  if (certFile === undefined || keyFile === undefined) return undefined;
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)]);
  return { cert, key };
}

/**
 * Takes a renewed certificate without a restart. Files that do not fit together, as for a moment while they are replaced, change nothing.
 * @returns a function that ends it
 */
export function followCertificate(app: FastifyInstance, settings: Settings, log: Logger): () => void {
  if (settings['tls-cert-file'] === undefined) return () => undefined;
  let seen: string | undefined;
  const look = async (): Promise<void> => {
    try {
      const pair = await readCertificate(settings);
      if (!pair) return;
      const content = Buffer.concat([pair.cert, pair.key]).toString('base64');
      if (seen !== undefined && seen !== content) {
        renewCertificate(app, pair);
        log.info('the certificate was renewed');
      }
      seen = content;
    } catch (error) {
      log.error({ err: error }, 'the renewed certificate cannot be used; the one before stays');
    }
  };
  void look();
  const timer = setInterval(() => void look(), INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

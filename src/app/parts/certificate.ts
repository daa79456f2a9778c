import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { errorCode } from '../../platform/plain-error.ts';
import { SettingsError } from '../../config/keys.ts';
import type { Settings } from '../../config/schema.ts';
import { systemClock } from '../../platform/clock.ts';
import { runPeriodically } from '../../platform/periodic.ts';
import { renewCertificate } from '../../api/server/server.ts';

export interface KeyPair {
  readonly key: Buffer;
  readonly cert: Buffer;
}

const INTERVAL_MS = 10_000;

/** The configured certificate; undefined where there is none. @throws {SettingsError} when its files cannot be read or are no pair */
export async function readCertificate(settings: Settings): Promise<KeyPair | undefined> {
  const certFile = settings['tls-cert-file'];
  const keyFile = settings['tls-key-file'];
  if (certFile === undefined || keyFile === undefined) return undefined;
  const [cert, key] = await Promise.all([read('tls-cert-file', certFile), read('tls-key-file', keyFile)]);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const { reason } = error as { reason?: unknown };
    const why = typeof reason === 'string' ? reason : 'unknown';
    throw new SettingsError([
      `\`tls-cert-file\` (${certFile}) and \`tls-key-file\` (${keyFile}) must be a PEM certificate and its private key without a passphrase: ${why}`,
    ]);
  }
  return { cert, key };
}

/** @throws {SettingsError} */
async function read(setting: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const code = errorCode(error) ?? 'unknown';
    throw new SettingsError([`\`${setting}\`: cannot read \`${path}\` (${code})`]);
  }
}

/**
 * Applies a renewed certificate without a restart. A key and a certificate that do not match, as during a replacement, are ignored.
 * @returns a function that stops it
 */
export function watchCertificate(app: FastifyInstance, settings: Settings, log: Logger): () => unknown {
  if (settings['tls-cert-file'] === undefined) return () => undefined;
  let seen: string | undefined;
  const check = async (): Promise<void> => {
    const pair = await readCertificate(settings);
    if (!pair) return;
    const content = Buffer.concat([pair.cert, pair.key]).toString('base64');
    if (seen !== undefined && seen !== content) {
      renewCertificate(app, pair);
      log.info('certificate renewed');
    }
    seen = content;
  };
  const onError = (error: unknown): void =>
    log.error({ err: error }, 'renewed certificate rejected; keeping the current one');
  void check().catch(onError);
  return runPeriodically(check, { clock: systemClock, intervalMs: INTERVAL_MS, onError });
}

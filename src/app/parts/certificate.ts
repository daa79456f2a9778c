import { readFile } from 'node:fs/promises';
import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions, type TlsOptions } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { errorCode } from '../../platform/plain-error.ts';
import { SettingsError } from '../../config/keys.ts';
import type { Settings } from '../../config/schema.ts';
import { systemClock } from '../../platform/clock.ts';
import { runPeriodically } from '../../platform/periodic.ts';
import { renewCertificate } from '../../api/server/server.ts';

const INTERVAL_MS = 10_000;

/** The options of the listener with the configured certificate. */
export interface ListenerTls extends TlsOptions {
  readonly key: Buffer;
  readonly cert: Buffer;
  readonly ca?: Buffer;
}

/** The configured certificate with its options; undefined where there is none. @throws {SettingsError} when its files cannot be read or do not fit */
export async function readCertificate(settings: Settings): Promise<ListenerTls | undefined> {
  const certFile = settings['tls-cert-file'];
  const keyFile = settings['tls-key-file'];
  const clientCaFile = settings['tls-client-ca-file'];
  if (certFile === undefined || keyFile === undefined) return undefined;
  const [cert, key, ca] = await Promise.all([
    read('tls-cert-file', certFile),
    read('tls-key-file', keyFile),
    clientCaFile === undefined ? undefined : read('tls-client-ca-file', clientCaFile),
  ]);
  tryOptions(
    { cert, key },
    `\`tls-cert-file\` (${certFile}) and \`tls-key-file\` (${keyFile}) must be a PEM certificate and its private key without a passphrase`,
  );
  const versions = {
    minVersion: settings['tls-min-version'] === '1.3' ? 'TLSv1.3' : 'TLSv1.2',
    ciphers: settings['tls-ciphers'],
  } as const;
  tryOptions(versions, '`tls-ciphers` must have names of OpenSSL, such as `ECDHE-ECDSA-AES128-GCM-SHA256`');
  if (ca === undefined) return { cert, key, ...versions };
  requireAuthorities(ca, `\`tls-client-ca-file\` (${clientCaFile}) must have PEM certificates`);
  return { cert, key, ...versions, ca, requestCert: true, rejectUnauthorized: true };
}

/** @throws {SettingsError} with the problem and the reason of OpenSSL */
function tryOptions(options: SecureContextOptions, problem: string): void {
  try {
    createSecureContext(options);
  } catch (error) {
    const { reason } = error as { reason?: unknown };
    throw new SettingsError([`${problem}: ${typeof reason === 'string' ? reason : 'unknown'}`]);
  }
}

/** OpenSSL ignores what is no certificate, and would accept no client. @throws {SettingsError} */
function requireAuthorities(pem: Buffer, problem: string): void {
  try {
    void new X509Certificate(pem);
  } catch {
    throw new SettingsError([problem]);
  }
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
    const https = await readCertificate(settings);
    if (!https) return;
    const content = Buffer.concat([https.cert, https.key, https.ca ?? Buffer.alloc(0)]).toString('base64');
    if (seen !== undefined && seen !== content) {
      renewCertificate(app, https);
      log.info('certificate renewed');
    }
    seen = content;
  };
  const onError = (error: unknown): void =>
    log.error({ err: error }, 'renewed certificate rejected; keeping the current one');
  void check().catch(onError);
  return runPeriodically(check, { clock: systemClock, intervalMs: INTERVAL_MS, onError });
}

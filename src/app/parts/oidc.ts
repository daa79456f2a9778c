import { readFile } from 'node:fs/promises';
import type { JSONWebKeySet } from 'jose';
import { Gauge, type Registry } from 'prom-client';
import { IssuerKeys, KeysUnavailableError } from '../../access/authenticators/issuer-keys.ts';
import { OidcAuthenticator } from '../../access/authenticators/oidc.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Settings } from '../../config/schema.ts';
import type { OidcSignIn } from '../../api/ui/oidc-sign-in.ts';
import type { Boot } from './boot.ts';

/** Of the discovery document and the keys together. */
const TIMEOUT_MS = 5000;
const MAX_DOCUMENT_BYTES = 262_144;

/** Reads the issuer's keys. Their URL is discovered first, unless it is set. */
async function readKeys(issuer: string, jwksUrl: string | undefined): Promise<JSONWebKeySet> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const url = jwksUrl ?? (await discoverKeys(issuer, signal));
  return (await readDocument(url, signal)) as JSONWebKeySet;
}

async function discoverKeys(issuer: string, signal: AbortSignal): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = (await readDocument(url, signal)) as { issuer?: unknown; jwks_uri?: unknown };
  if (document.issuer !== issuer) throw new Error(`${url} names another issuer: \`${String(document.issuer)}\``);
  if (typeof document.jwks_uri !== 'string') throw new Error(`${url} has no \`jwks_uri\``);
  return document.jwks_uri;
}

async function readDocument(url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, { signal, redirect: 'error', headers: { accept: 'application/json' } });
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > MAX_DOCUMENT_BYTES) throw new Error(`${url} has more than ${MAX_DOCUMENT_BYTES} bytes`);
    chunks.push(chunk);
  }
  if (response.status !== 200) throw new Error(`${url} responded with ${response.status}`);
  return JSON.parse(Buffer.concat(chunks, length).toString('utf8')) as unknown;
}

/** The authenticator of the configured issuer; undefined without one. */
export function oidcAuthenticator({ settings, log, registry, closers }: Boot): OidcAuthenticator | undefined {
  const issuer = settings['oidc-issuer'];
  let keys: IssuerKeys | undefined;
  observeIssuerKeys(registry, () => keys?.isStale ?? false);
  if (issuer === undefined) return undefined;
  keys = new IssuerKeys({
    read: () => readKeys(issuer, settings['oidc-jwks-url']),
    maxStaleMs: settings['oidc-keys-max-stale'],
    clock: systemClock,
    onFailed: (error, ageMs) =>
      log.warn(
        { err: error, issuer, ageSeconds: ageMs === undefined ? undefined : Math.round(ageMs / 1000) },
        ageMs === undefined
          ? 'failed to read the keys of the OIDC issuer'
          : 'failed to read the keys of the OIDC issuer; the known keys are used on',
      ),
    onRecovered: () => log.info({ issuer }, 'the keys of the OIDC issuer were read again'),
  });
  closers.defer('keys of the OIDC issuer', () => keys.close());
  return new OidcAuthenticator({
    issuer,
    audiences: settings['oidc-audiences'],
    keys: keys.find,
    algorithms: settings['oidc-algorithms'],
    usernameClaim: settings['oidc-username-claim'],
    groupsClaim: settings['oidc-groups-claim'],
    conditionClaims: settings['oidc-condition-claims'],
    onUnreadableGroups:
      settings['oidc-unreadable-groups'] === 'refuse'
        ? undefined
        : (problem) => log.warn({ issuer, problem }, 'accepted a token without the groups that it could not read'),
    clock: systemClock,
    onUnavailable(error) {
      // The read that failed has a line already.
      if (!(error instanceof KeysUnavailableError))
        log.warn({ err: error, issuer }, 'failed to use a key of the OIDC issuer');
    },
  });
}

/** The metric of keys that cannot be read. */
export function observeIssuerKeys(registry: Registry, isStale: () => boolean): void {
  const gauge = new Gauge({
    name: 'olap_warden_oidc_keys_stale',
    help: '1 while the keys of the OIDC issuer cannot be read, so that older ones are used, otherwise 0.',
    registers: [],
    collect() {
      this.set(isStale() ? 1 : 0);
    },
  });
  registry.registerMetric(gauge);
}

/** The OIDC sign-in of the dashboard; undefined where it is not configured. @throws {Error} when the client secret's file cannot be read */
export async function oidcSignIn(settings: Settings): Promise<OidcSignIn | undefined> {
  const issuer = settings['oidc-issuer'];
  const clientId = settings['oidc-client-id'];
  if (issuer === undefined || clientId === undefined) return undefined;
  const file = settings['oidc-client-secret-file'];
  return {
    issuer,
    clientId,
    clientSecret: file === undefined ? undefined : (await readFile(file, 'utf8')).trim(),
    scope: settings['oidc-scope'],
    token: settings['oidc-token'],
  };
}

import { readFile } from 'node:fs/promises';
import { createRemoteJWKSet, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { OidcAuthenticator } from '../../access/authenticators/oidc.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Settings } from '../../config/schema.ts';
import type { OidcSignIn } from '../../api/ui/oidc-sign-in.ts';

const TIMEOUT_MS = 5000;
/** Least interval between reads of the keys. An unknown key causes a read, and any client can send a token with one. */
const COOLDOWN_MS = 5000;
const KEYS_MAX_AGE_MS = 600_000;
const MAX_DOCUMENT_BYTES = 262_144;

/**
 * The issuer's keys. Their URL is discovered at first use, and again after a failure. Any client can cause a read with a token that names the
 * issuer, so concurrent tokens share one.
 */
function issuerKeys(issuer: string, jwksUrl: string | undefined): JWTVerifyGetKey {
  let known: Promise<JWTVerifyGetKey> | undefined;
  const open = async (): Promise<JWTVerifyGetKey> =>
    createRemoteJWKSet(new URL(jwksUrl ?? (await discoverKeys(issuer))), {
      timeoutDuration: TIMEOUT_MS,
      cooldownDuration: COOLDOWN_MS,
      cacheMaxAge: KEYS_MAX_AGE_MS,
    });
  return async (header, token) => {
    known ??= open().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return (await known)(header, token);
  };
}

async function discoverKeys(issuer: string): Promise<string> {
  const url = `${issuer}/.well-known/openid-configuration`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' });
  const text = await answer.text();
  if (!answer.ok || text.length > MAX_DOCUMENT_BYTES) throw new Error(`${url} responded with ${answer.status}`);
  const document = JSON.parse(text) as { issuer?: unknown; jwks_uri?: unknown };
  if (document.issuer !== issuer) throw new Error(`${url} names another issuer: \`${String(document.issuer)}\``);
  if (typeof document.jwks_uri !== 'string') throw new Error(`${url} has no \`jwks_uri\``);
  return document.jwks_uri;
}

/** The authenticator of the configured issuer; undefined without one. */
export function oidcAuthenticator(settings: Settings, log: Logger): OidcAuthenticator | undefined {
  const issuer = settings['oidc-issuer'];
  if (issuer === undefined) return undefined;
  return new OidcAuthenticator({
    issuer,
    audiences: settings['oidc-audiences'],
    keys: issuerKeys(issuer, settings['oidc-jwks-url']),
    algorithms: settings['oidc-algorithms'],
    usernameClaim: settings['oidc-username-claim'],
    groupsClaim: settings['oidc-groups-claim'],
    clock: systemClock,
    onUnavailable: (error) => log.warn({ err: error, issuer }, 'failed to read the keys of the OIDC issuer'),
  });
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

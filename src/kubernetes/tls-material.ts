import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

type Material = Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx'>;

/** @throws {Error} with one line where OpenSSL rejects a certificate or key. It repeats nothing of them */
export function checkTlsMaterial({ ca, cert, key, passphrase, pfx }: Material): void {
  // OpenSSL ignores a CA that is not PEM, and each connection fails later.
  for (const one of [ca ?? []].flat()) if (!isCertificate(one)) throw new Error('the CA is not a PEM certificate');
  if (cert === undefined && key === undefined && pfx === undefined) return;
  try {
    createSecureContext({ cert, key, passphrase, pfx });
  } catch (error) {
    const why = (error as { reason?: unknown }).reason;
    throw new Error(`the client certificate or client key is invalid (${typeof why === 'string' ? why : 'unknown'})`, {
      cause: error,
    });
  }
}

function isCertificate(pem: string | Buffer): boolean {
  try {
    return new X509Certificate(pem) instanceof X509Certificate;
  } catch {
    return false;
  }
}

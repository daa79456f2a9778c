import { describe, expect, it } from 'vitest';
import { mayUseProxy, prepareProxies } from '../../../src/platform/proxies.ts';

const PROXY = 'http://proxy.example.com:3128';

describe('the proxies of the environment', () => {
  it('are URLs of HTTP proxies; the message has no credential', () => {
    for (const value of ['proxy.example.com:3128', 'user:secret@proxy', 'socks5://proxy:1080'])
      expect(prepareProxies({ HTTPS_PROXY: value })).toBe(
        'the environment variable `HTTPS_PROXY` must be the URL of a proxy, such as http://proxy.example.com:3128',
      );
    expect(prepareProxies({ http_proxy: PROXY, HTTPS_PROXY: 'https://user:secret@proxy', NO_PROXY: 'a,b' })).toBe(
      undefined,
    );
    expect(prepareProxies({ HTTP_PROXY: '' })).toBe(undefined);
  });

  it('never apply to the Kubernetes API of the own cluster', () => {
    const environments = [
      { HTTPS_PROXY: PROXY, KUBERNETES_SERVICE_HOST: '10.96.0.1' },
      { HTTPS_PROXY: PROXY, KUBERNETES_SERVICE_HOST: '10.96.0.1', NO_PROXY: '.svc' },
      { https_proxy: PROXY, KUBERNETES_SERVICE_HOST: '10.96.0.1', no_proxy: '.svc', NO_PROXY: 'x' },
      { KUBERNETES_SERVICE_HOST: '10.96.0.1' },
    ];
    for (const env of environments) prepareProxies(env);
    expect(environments.map((env) => [env.NO_PROXY, env.no_proxy])).toEqual([
      ['10.96.0.1', undefined],
      ['.svc,10.96.0.1', undefined],
      ['x', '.svc,10.96.0.1'],
      [undefined, undefined],
    ]);
  });

  it('do not apply to engines in a network of NO_PROXY', () => {
    const env = { HTTP_PROXY: PROXY, NO_PROXY: 'localhost, 10.0.0.0/8,fd00::/8,1.2.3.4/33' };
    const used = (host: string) => mayUseProxy(`http://${host}:8099`, env);
    expect(['10.1.2.3', '[fd00::1]'].map(used)).toEqual([false, false]);
    expect(['11.1.2.3', '[fe80::1]', '1.2.3.4', 'broker-0.pinot'].map(used)).toEqual([true, true, true, true]);
    expect(mayUseProxy('http://broker:8099', { NO_PROXY: '*' })).toBe(false);
  });
});

import { EnvHttpProxyAgent, install, setGlobalDispatcher } from 'undici';

// The `fetch` built into Node 24 ends the process when a server closes the connection while a body is unread (nodejs/undici#5360): a long error page of
// an identity provider would end a gateway. Libraries call the global one, so it is replaced by that of a release without the defect.
install();

/** The proxies of the environment for `fetch` and `request` without connections of their own: the identity provider and the webhook of health alerts. */
export function fetchThroughProxies(): void {
  setGlobalDispatcher(new EnvHttpProxyAgent());
}

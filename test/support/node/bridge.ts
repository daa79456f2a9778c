// Runs inside the node's network namespace, beside a NodeBridge in the test's process, and ends with it. Sockets that have a path know no
// network namespace: each forwarded connection goes over one of those, so that neither side needs an interface to the other.
import { connect } from 'node:net';
import { listen, type BridgeRequest } from './relay.ts';

process.on('disconnect', () => process.exit(0));
process.on('message', (request: BridgeRequest) => {
  const { id, host, port, path } = request;
  const listening =
    request.direction === 'to-host'
      ? listen({ host, port }, () => connect({ path, allowHalfOpen: true }))
      : listen({ path }, () => connect({ host, port, allowHalfOpen: true }));
  listening.then(
    () => process.send?.({ id }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});

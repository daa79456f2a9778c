// The parts of a whole node (kubelet, containerd, CoreDNS), for the tests of a release. Where this machine cannot hold one, those are skipped.
import { canHoldNode } from '../../test/support/node/machine.ts';
import { installed } from '../pinot/jvm.ts';

const obstacle = canHoldNode();
if (obstacle === undefined) {
  for (const part of ['node-parts', 'coredns']) await installed(part);
} else {
  process.stderr.write(`the parts of a node are not needed: ${obstacle}\n`);
}

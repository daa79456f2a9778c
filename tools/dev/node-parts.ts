// The parts of a whole node (kubelet, containerd, CoreDNS) and, where Docker works, kind: for the tests of a release. Where this machine cannot hold one, those are skipped.
import { canHoldNode } from '../../test/support/node/machine.ts';
import { dockerWorks } from '../../test/support/kind/choice.ts';
import { installed } from '../pinot/jvm.ts';

const obstacle = canHoldNode();
if (obstacle === undefined) {
  try {
    for (const part of ['node-parts', 'coredns']) await installed(part);
  } catch (error) {
    // The tests that need them will fail and say so; all others can do without.
    process.stderr.write(`the parts of a node could not be built: ${String(error)}\n`);
  }
} else {
  process.stderr.write(`the parts of a node are not needed: ${obstacle}\n`);
}
if (dockerWorks()) await installed('kind');

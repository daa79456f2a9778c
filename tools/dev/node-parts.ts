// Builds the parts of a Kubernetes node (kubelet, containerd, CoreDNS) and, where Docker works, kind, for the release tests. Skips what this
// machine cannot run.
import { canHoldNode } from '../../test/support/node/machine.ts';
import { dockerWorks } from '../../test/support/kind/choice.ts';
import { installed } from '../pinot/jvm.ts';

const obstacle = canHoldNode();
if (obstacle === undefined) {
  try {
    for (const part of ['node-parts', 'coredns']) await installed(part);
  } catch (error) {
    // Only the tests that use them fail.
    process.stderr.write(`failed to build the parts of a node: ${String(error)}\n`);
  }
} else {
  process.stderr.write(`skipping the parts of a node: ${obstacle}\n`);
}
if (dockerWorks()) await installed('kind');

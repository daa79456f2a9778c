import { Type } from 'typebox';
import { duration, text, texts } from '../../platform/setting-schema.ts';

/** The Kubernetes API and the operator. */
export const KUBERNETES_SETTINGS = {
  kubeconfig: Type.Optional(
    text({
      description: 'Kubeconfig file for the Kubernetes API.',
      computedDefault: '`KUBECONFIG`, else `~/.kube/config`, else the pod’s service account',
      unit: 'path',
    }),
  ),
  namespace: Type.Optional(
    text({
      description: 'Namespace of the custom resources.',
      env: 'POD_NAMESPACE',
      computedDefault: 'the pod’s, or that of the kubeconfig’s context',
      pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
      expected: 'the name of a namespace',
    }),
  ),
  'max-view-age': duration({
    description:
      'Age of the gateway’s view of the resources above which it answers every request with 503, because access may have been revoked meanwhile. At least 30s. 0: it decides by its last view for any time. Otherwise an outage of the Kubernetes API longer than this ends all access. Not in standalone.',
    default: 0,
  }),
  'cluster-files': texts({
    description:
      'Configuration files of the further clusters of the environment, each that of their gateways with `further-cluster`. The operator runs the health checks of these clusters, too, with the properties of the file. Not in standalone.',
    default: [],
    unit: 'path',
  }),
  'leader-lease': text({
    description: 'Name of the Lease for leader election among the operators.',
    default: 'olap-warden-operator',
  }),
  'session-key-secret': text({
    description:
      'Name of the Secret that the operator creates for `ui-session-key-file` of the gateways. The operator never reads or changes it.',
    default: 'olap-warden-session-key',
  }),
  'usage-config-map': text({
    description:
      'Name of the ConfigMap in which the gateways record when access was last used, and which sessions of the dashboard were signed out.',
    default: 'olap-warden-access-usage',
  }),
  'token-grace': duration({
    description: 'How long the previous token stays valid after a rotation.',
    default: 86_400_000,
  }),
  'prune-expired-after': duration({
    description: 'How long the operator keeps expired subjects of RoleAssignments. 0: they are never removed.',
    default: 2_592_000_000,
  }),
};

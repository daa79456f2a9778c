/** Required values of the chart. */
export const REQUIRED = { engine: { controllers: ['http://pinot-controller.pinot:9000'] } } as const;

/** APIs of a current cluster beyond those of every cluster. They are passed to helm, which does not query a cluster here. */
export const ADMISSION_APIS: readonly string[] = [
  'admissionregistration.k8s.io/v1/MutatingAdmissionPolicy',
  'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy',
];
/** Served where the Prometheus operator is installed. */
export const MONITORING_API = 'monitoring.coreos.com/v1';
/** Kinds of other projects, without schemas here. */
export const FOREIGN_KINDS: readonly string[] = ['ServiceMonitor', 'PrometheusRule', 'HTTPRoute'];

/** A set of values to test. */
export interface Combination {
  readonly name: string;
  /** In addition to the required values. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The APIs of the cluster; those of a current cluster without monitoring by default. */
  readonly apis?: readonly string[];
}

const SCHEDULING = {
  podAnnotations: { 'example.com/a': 'b' },
  podLabels: { team: 'data' },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { team: 'data' } } },
      ],
    },
  },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { team: 'data' } },
    },
  ],
  priorityClassName: 'system-cluster-critical',
  extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/ca/ca.crt' }],
  extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca', readOnly: true }],
} as const;

/** The tested combinations: each switch with a value other than its default, and switches that affect the same template. */
export const COMBINATIONS: readonly Combination[] = [
  { name: 'defaults', values: {} },
  { name: 'an older cluster without admission policies', values: {}, apis: [] },
  {
    name: 'the Prometheus operator, with alerts changed',
    values: {
      metrics: {
        serviceMonitor: { labels: { release: 'prometheus' } },
        alerts: { labels: { team: 'data' } },
      },
    },
    apis: [...ADMISSION_APIS, MONITORING_API],
  },
  {
    name: 'gateways as a Deployment over S3',
    values: {
      gateway: { kind: 'Deployment', replicas: 3 },
      properties: {
        'olap.broker.pagination.protocol': 's3',
        'olap.broker.pagination.s3.bucket': 'results',
      },
      serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/x' } },
    },
  },
  {
    name: 'results in files on volumes',
    values: {
      gateway: { persistence: { enabled: true, storageClass: 'fast' } },
      properties: { 'olap.broker.pagination.protocol': 'file' },
    },
  },
  {
    name: 'TLS, an Ingress and a route of the Gateway API',
    values: {
      gateway: { tls: { secretName: 'tls' }, service: { type: 'LoadBalancer', port: 443, annotations: { a: 'b' } } },
      ingress: {
        enabled: true,
        className: 'nginx',
        annotations: { a: 'b' },
        hosts: ['olap.example.com'],
        tls: [{ secretName: 'tls', hosts: ['olap.example.com'] }],
      },
      gatewayRoute: { enabled: true, parentRefs: [{ name: 'gw' }], hostnames: ['olap.example.com'] },
    },
  },
  {
    name: 'network policies, the engine closed to others',
    values: {
      networkPolicy: {
        enabled: true,
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'apps' } } }],
        engine: { enabled: true, namespace: 'default', podLabels: { app: 'pinot' } },
      },
    },
  },
  {
    name: 'network policies over every pod of the engine’s namespace',
    values: { networkPolicy: { enabled: true, engine: { enabled: true, namespace: 'default' } } },
  },
  { name: 'no verbs for handing on access', values: { admission: { bind: false } } },
  {
    name: 'minimal',
    values: {
      operator: { replicas: 1 },
      gateway: { replicas: 1 },
      crds: { enabled: false },
      rbac: { aggregate: false, tokenReview: false },
      admission: { authors: false, inUse: false, bind: false, serviceTokens: false },
      podDisruptionBudget: { enabled: false },
      metrics: {
        serviceMonitor: { enabled: false },
        alerts: { enabled: false },
        dashboard: { enabled: false },
      },
    },
    apis: [...ADMISSION_APIS, MONITORING_API],
  },
  {
    name: 'scheduling, more volumes and environment',
    values: {
      operator: SCHEDULING,
      gateway: SCHEDULING,
      image: { pullSecrets: ['registry'], digest: `sha256:${'0'.repeat(64)}` },
    },
  },
  {
    name: 'an administrator, a credential for the engine, settings and more objects',
    values: {
      engine: {
        ...REQUIRED.engine,
        brokers: ['http://pinot-broker.pinot:8099'],
        credentialSecret: 'engine',
        clusterName: 'main',
        environment: 'prod',
      },
      firstAdministrator: { type: 'group', name: 'platform' },
      settings: { 'log-level': 'debug' },
      crds: { keep: false },
      extraObjects: [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: '{{ .Release.Name }}-more', namespace: '{{ .Release.Namespace }}' },
          data: { image: '{{ .Chart.AppVersion }}' },
        },
      ],
    },
  },
];

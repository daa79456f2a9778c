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

/** Fields of the pods of one component. */
const PODS = {
  strategy: { type: 'RollingUpdate' },
  hostAliases: [{ ip: '10.0.0.1', hostnames: ['pinot-controller'] }],
  podSpec: { dnsPolicy: 'ClusterFirst', enableServiceLinks: false },
  initContainers: [
    {
      name: 'wait',
      image: '{{ .Values.image.repository }}:{{ .Chart.AppVersion }}',
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    },
  ],
  extraArgs: ['--log-level=debug'],
  extraEnvFrom: [{ secretRef: { name: 'object-store' } }],
  serviceAccount: { annotations: { 'example.com/a': 'b' } },
  podDisruptionBudget: { minAvailable: '50%' },
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
    name: 'results in files on volumes, with rights by hand',
    values: {
      rbac: { create: false },
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
  {
    name: 'network policies for outgoing connections',
    values: {
      networkPolicy: {
        enabled: true,
        metricsFrom: [{ namespaceSelector: {} }],
        engine: { namespace: 'default', podLabels: { app: 'pinot' } },
        egress: {
          enabled: true,
          apiServer: { ports: [6443], cidrs: ['10.0.0.1/32'] },
          rules: [{ to: [{ ipBlock: { cidr: '10.1.0.0/16' } }], ports: [{ port: 443, protocol: 'TCP' }] }],
        },
      },
    },
  },
  {
    name: 'OpenShift: users and groups of the platform, accounts and labels of the organization',
    values: {
      podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
      commonLabels: { team: 'data' },
      commonAnnotations: { 'example.com/owner': 'data' },
      operator: PODS,
      gateway: { ...PODS, serviceAccount: { create: false, name: 'shared-gateway' } },
    },
  },
  {
    name: 'a load balancer, and monitoring with relabelings',
    values: {
      gateway: {
        service: {
          type: 'LoadBalancer',
          nodePort: 30080,
          labels: { exposed: 'yes' },
          loadBalancerClass: 'example.com/internal',
          loadBalancerSourceRanges: ['10.0.0.0/8'],
          externalTrafficPolicy: 'Local',
          internalTrafficPolicy: 'Cluster',
          ipFamilyPolicy: 'SingleStack',
        },
      },
      metrics: {
        serviceMonitor: {
          scrapeTimeout: '10s',
          relabelings: [{ targetLabel: 'cluster', replacement: 'main' }],
          metricRelabelings: [{ action: 'labeldrop', regex: 'pod' }],
        },
        alerts: { ruleLabels: { release: 'prometheus' } },
        dashboard: { annotations: { grafana_folder: 'Pinot' } },
      },
    },
    apis: [...ADMISSION_APIS, MONITORING_API],
  },
  {
    name: 'several clusters, with what each has of its own',
    values: {
      networkPolicy: {
        enabled: true,
        from: [{ namespaceSelector: {} }],
        engine: { enabled: true, namespace: 'default' },
        egress: { enabled: true },
      },
      ingress: { enabled: true, hosts: ['events.example.com'] },
      clusters: [
        {
          name: 'orders',
          controllers: ['http://pinot-controller.pinot-orders:9000'],
          brokers: ['http://pinot-broker.pinot-orders:8099'],
          credentialSecret: 'pinot-orders',
          ingress: { enabled: true, hosts: ['orders.example.com'] },
          networkPolicy: { engine: { podLabels: { app: 'pinot-orders' } } },
          settings: { 'log-level': 'debug' },
        },
        {
          name: 'clicks',
          controllers: ['http://pinot-controller.pinot-clicks:9000'],
          gateway: { kind: 'Deployment', replicas: 1 },
          properties: { olap: { broker: { pagination: { protocol: 'memory' } } } },
        },
      ],
    },
    apis: [...ADMISSION_APIS, MONITORING_API],
  },
  { name: 'no verbs for handing on access', values: { admission: { bind: false } } },
  {
    name: 'minimal',
    values: {
      operator: { replicas: 1 },
      gateway: { replicas: 1 },
      crds: { enabled: false },
      rbac: { aggregate: false, tokenReview: false },
      admission: { authors: false, inUse: false, bind: false, serviceTokens: false, neverMatches: false },
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

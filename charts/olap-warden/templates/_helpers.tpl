{{- define "olap-warden.name" -}}
{{- default "olap-warden" .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of the release is not repeated: a release named olap-warden has olap-warden-gateway. */}}
{{- define "olap-warden.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "olap-warden.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "olap-warden.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "olap-warden.labels" -}}
{{- $own := include "olap-warden.selector" . | fromYaml -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") -}}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "olap-warden" -}}
{{- toYaml (merge $own .Values.commonLabels) -}}
{{- end -}}

{{/* dict root name, and optionally namespace labels annotations: the metadata of an object. Its own labels and annotations win over the common ones. */}}
{{- define "olap-warden.metadata" -}}
name: {{ .name }}
namespace: {{ .namespace | default .root.Release.Namespace }}
labels:
  {{- toYaml (merge (dict) (.labels | default dict) (include "olap-warden.labels" .root | fromYaml)) | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* dict root component: the service account of a component. The gateways of all clusters have the same. */}}
{{- define "olap-warden.serviceAccount" -}}
{{- $main := .root.Main | default .root -}}
{{- $account := (index $main.Values .component).serviceAccount -}}
{{- if $account.name -}}
{{- $account.name -}}
{{- else if $account.create -}}
{{- printf "%s-%s" (include "olap-warden.fullname" $main) .component -}}
{{- else -}}
{{- fail (printf "%s.serviceAccount.create=false requires %s.serviceAccount.name: the name of an existing service account" .component .component) -}}
{{- end -}}
{{- end -}}

{{- define "olap-warden.selector" -}}
app.kubernetes.io/name: {{ include "olap-warden.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "olap-warden.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The environment of both processes; `component` is operator or gateway. */}}
{{- define "olap-warden.env" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- end -}}

{{/* dict root component given: how the pods of a component are spread. */}}
{{- define "olap-warden.spread" -}}
{{- if .given }}
{{- toYaml .given }}
{{- else -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "olap-warden.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
{{- end }}
{{- end -}}

{{/* dict root component: the common part of the pod specs of both components. */}}
{{- define "olap-warden.scheduling" -}}
{{- $values := index .root.Values .component -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
topologySpreadConstraints:
  {{- include "olap-warden.spread" (dict "root" .root "component" .component "given" $values.topologySpreadConstraints) | nindent 2 }}
{{- with $values.hostAliases }}
hostAliases: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.podSecurityContext }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.initContainers }}
initContainers: {{- tpl (toYaml .) $.root | nindent 2 }}
{{- end }}
{{- with $values.podSpec }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* dict root component: the common part of the containers of both components. */}}
{{- define "olap-warden.container" -}}
{{- $values := index .root.Values .component -}}
name: {{ .component }}
image: {{ include "olap-warden.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- $clusterFiles := list }}
{{- if eq .component "operator" }}
{{- range .root.Values.clusters }}{{ $clusterFiles = append $clusterFiles (printf "--cluster-files=/etc/olap-warden-clusters/%s/settings.yaml" .name) }}{{ end }}
{{- end }}
args: {{- toYaml (concat (list .component "--config" "/etc/olap-warden/settings.yaml") $clusterFiles $values.extraArgs) | nindent 2 }}
env:
  {{- include "olap-warden.env" . | nindent 2 }}
  {{- with $values.extraEnv }}{{ toYaml . | nindent 2 }}{{ end }}
{{- with $values.extraEnvFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
{{ include "olap-warden.probes" . }}
resources: {{- toYaml $values.resources | nindent 2 }}
{{- with .root.Values.securityContext }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* dict root component: labels and annotations of a pod; the checksum restarts it when the settings change. */}}
{{- define "olap-warden.podMetadata" -}}
{{- $values := index .root.Values .component -}}
{{- $own := set (include "olap-warden.selector" .root | fromYaml) "app.kubernetes.io/component" .component }}
labels:
  {{- toYaml (merge $own $values.podLabels .root.Values.commonLabels) | nindent 2 }}
annotations:
  {{- $settings := include "olap-warden.settings" .root }}
  {{- if eq .component "operator" }}
  {{- $clusters := dict }}{{ include "olap-warden.furtherClusters" (dict "root" .root "into" $clusters) }}
  {{- range $clusters }}{{ $settings = print $settings (include "olap-warden.settings" .) }}{{ end }}
  {{- end }}
  checksum/settings: {{ $settings | sha256sum }}
  {{- with $values.podAnnotations }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end -}}

{{/* Probes on the metrics port, which keeps responding while the other port is drained. */}}
{{- define "olap-warden.probes" -}}
startupProbe: {httpGet: {path: /livez, port: metrics}, periodSeconds: 1, failureThreshold: 60}
livenessProbe: {httpGet: {path: /livez, port: metrics}, periodSeconds: 10, timeoutSeconds: 3}
readinessProbe: {httpGet: {path: /readyz, port: metrics}, periodSeconds: 2, timeoutSeconds: 3}
{{- end -}}

{{/* dict root component: volumes and their mounts. */}}
{{- define "olap-warden.volumes" -}}
- name: settings
  configMap: {name: {{ include "olap-warden.fullname" .root }}}
- name: tmp
  emptyDir: {}
{{- if .root.Values.engine.credentialSecret }}
- name: engine-credential
  secret: {secretName: {{ .root.Values.engine.credentialSecret }}}
{{- end }}
{{- end -}}
{{- define "olap-warden.mounts" -}}
- {name: settings, mountPath: /etc/olap-warden, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if .root.Values.engine.credentialSecret }}
- {name: engine-credential, mountPath: {{ include "olap-warden.credentialFolder" .root }}, readOnly: true}
{{- end }}
{{- end -}}

{{/* The operator has the credentials of all clusters, so each has a folder of its own. */}}
{{- define "olap-warden.credentialFolder" -}}
/var/run/secrets/olap-warden/engine{{ if .Main }}-{{ .Values.engine.clusterName }}{{ end }}
{{- end -}}

{{/*
dict root into: sets `into` to the contexts of the further clusters, by name. In such a context the templates of the gateways render those of the
cluster, as if they were a release of their own: with its values, and names and labels that end in its name. `Main` is the context of the release.
*/}}
{{- define "olap-warden.furtherClusters" -}}
{{- $root := .root -}}
{{- $into := .into -}}
{{- range $entry := $root.Values.clusters -}}
{{- $name := $entry.name -}}
{{- if or (hasKey $into $name) (eq $name $root.Values.engine.clusterName) -}}
{{- fail (printf "clusters has `%s` twice, or it is engine.clusterName: each cluster needs a name of its own" $name) -}}
{{- end -}}
{{- if regexMatch "^cluster$|(^|-)(access-usage|dashboard|engine|gateway|metrics|operator|peers|session-key|test)$" $name -}}
{{- fail (printf "clusters has the name `%s`: `cluster` is the report of the first cluster, and names that end in access-usage, dashboard, engine, gateway, metrics, operator, peers, session-key or test are those of other objects of the release. Choose another name" $name) -}}
{{- end -}}
{{- $fullname := printf "%s-%s" (include "olap-warden.fullname" $root) $name -}}
{{- if gt (len $fullname) 40 -}}
{{- fail (printf "the names of the objects of the cluster `%s` begin with `%s`, which is longer than 40 characters: shorten its name, or set fullnameOverride" $name $fullname) -}}
{{- end -}}
{{- $values := deepCopy $root.Values -}}
{{- $_ := set $values "fullnameOverride" $fullname -}}
{{- $_ := set $values "engine" (dict "controllers" $entry.controllers "brokers" ($entry.brokers | default list) "credentialSecret" ($entry.credentialSecret | default "") "clusterName" $name "environment" $root.Values.engine.environment) -}}
{{- $_ := set $values "settings" (omit $values.settings "cluster" "controllers" "brokers" "engine-credential-file" "peers" "peers-service") -}}
{{- range $key, $value := dict "enabled" false "hosts" list "tls" list }}{{ $_ := set $values.ingress $key $value }}{{ end -}}
{{- $_ := set $values.gatewayRoute "enabled" false -}}
{{- $_ := set $values.gateway.service "nodePort" 0 -}}
{{- include "olap-warden.overlay" (dict "base" $values "over" (pick $entry "gateway" "ingress" "gatewayRoute" "networkPolicy" "properties" "settings")) -}}
{{- $release := dict "Name" (printf "%s-%s" $root.Release.Name $name) "Namespace" $root.Release.Namespace "Service" $root.Release.Service -}}
{{- $_ := set $into $name (dict "Main" $root "Values" $values "Release" $release "Chart" $root.Chart "Files" $root.Files "Capabilities" $root.Capabilities "Template" $root.Template) -}}
{{- end -}}
{{- end -}}

{{/* dict base over: sets the values of `over` in `base`, as Helm does with several files of values. */}}
{{- define "olap-warden.overlay" -}}
{{- $base := .base -}}
{{- range $key, $value := .over -}}
{{- if and (kindIs "map" $value) (kindIs "map" (index $base $key)) -}}
{{- include "olap-warden.overlay" (dict "base" (index $base $key) "over" $value) -}}
{{- else -}}
{{- $_ := set $base $key $value -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The settings of the process, see docs/configuration.md; a change restarts the pods. */}}
{{- define "olap-warden.settings" -}}
{{- $main := .Main | default . -}}
{{- $settings := dict "controllers" .Values.engine.controllers "cluster" .Values.engine.clusterName "environment" .Values.engine.environment -}}
{{- $_ := set $settings "peers-service" (printf "%s-gateway-peers.%s:8080" (include "olap-warden.fullname" .) .Release.Namespace) -}}
{{- $_ := set $settings "leader-lease" (printf "%s-operator" (include "olap-warden.fullname" $main)) -}}
{{- $_ := set $settings "usage-config-map" (printf "%s-access-usage" (include "olap-warden.fullname" $main)) -}}
{{- $_ := set $settings "session-key-secret" (printf "%s-session-key" (include "olap-warden.fullname" $main)) -}}
{{- with $main.Values.clusters -}}
{{- $names := list $main.Values.engine.clusterName -}}
{{- range . }}{{ $names = append $names .name }}{{ end -}}
{{- $_ := set $settings "other-clusters" (without $names $.Values.engine.clusterName) -}}
{{- end -}}
{{- if .Main }}{{ $_ := set $settings "further-cluster" true }}{{ end -}}
{{- $_ := set $settings "ui-session-key-file" "/var/run/secrets/olap-warden/session/keys" -}}
{{- with .Values.engine.brokers }}{{ $_ := set $settings "brokers" . }}{{ end -}}
{{- if .Values.engine.credentialSecret }}{{ $_ := set $settings "engine-credential-file" (printf "%s/authorization" (include "olap-warden.credentialFolder" .)) }}{{ end -}}
{{- with .Values.firstAdministrator }}{{ if .name }}{{ $_ := set $settings "admin-subject" (list (printf "%s:%s" .type .name)) }}{{ end }}{{ end -}}
{{- if not .Values.rbac.tokenReview }}{{ $_ := set $settings "kubernetes-tokens" false }}{{ end -}}
{{- if .Values.gateway.tls.secretName -}}
{{- $_ := set $settings "tls-cert-file" "/var/run/secrets/olap-warden/tls/tls.crt" -}}
{{- $_ := set $settings "tls-key-file" "/var/run/secrets/olap-warden/tls/tls.key" -}}
{{- end -}}
{{- toYaml (merge (deepCopy .Values.settings) $settings) -}}
{{- end -}}

{{/* dict prefix values: properties by dotted key. Nested mappings and dotted keys are equivalent, as in the program. */}}
{{- define "olap-warden.flatten" -}}
{{- $prefix := .prefix }}
{{- range $key, $value := .values }}
{{- if kindIs "map" $value }}
{{- include "olap-warden.flatten" (dict "prefix" (printf "%s%s." $prefix $key) "values" $value) }}
{{- else }}
{{ toYaml (dict (printf "%s%s" $prefix $key) $value) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The properties, see docs/configuration.md; the processes reload them without a restart. */}}
{{- define "olap-warden.properties" -}}
{{- $properties := include "olap-warden.flatten" (dict "prefix" "" "values" .Values.properties) | fromYaml -}}
{{- if and (eq (index $properties "olap.broker.pagination.protocol" | default "memory") "file") (not (hasKey $properties "olap.broker.pagination.file.data.dir")) -}}
{{- $_ := set $properties "olap.broker.pagination.file.data.dir" "/var/lib/olap-warden/results" -}}
{{- end -}}
{{- if $properties }}{{ toYaml $properties }}{{ end -}}
{{- end -}}

{{/* dict root name: the name of an object outside the release's namespace. The suffix keeps releases of one name in several namespaces apart. */}}
{{- define "olap-warden.clusterName" -}}
{{ .name }}.{{ .root.Release.Namespace }}
{{- end -}}

{{/*
dict root path: the objects of a file in manifests/, renamed after the release and moved to its namespace. Cluster-scoped objects and
references to them get the namespace as a suffix, and admission rules are bound to the namespace, so that several releases do not affect
each other.
*/}}
{{- define "olap-warden.derive" -}}
{{- $root := .root -}}
{{- $fullname := include "olap-warden.fullname" $root -}}
{{- $text := $root.Files.Get .path | replace "olap-warden-" (printf "%s-" $fullname) -}}
{{- range $component := list "operator" "gateway" }}
{{- $text = $text | replace (printf ":%s-%s'" $fullname $component) (printf ":%s'" (include "olap-warden.serviceAccount" (dict "root" $root "component" $component))) -}}
{{- end }}
{{- range regexSplit "(?m)^---$" $text -1 }}
{{- $object := fromYaml . }}
{{- if $object.kind }}
{{- $_ := set $object.metadata "labels" (merge (include "olap-warden.labels" $root | fromYaml) $object.metadata.labels) }}
{{- if has $object.kind (list "ServiceAccount" "Role" "RoleBinding" "ConfigMap") }}
{{- $_ := set $object.metadata "namespace" $root.Release.Namespace }}
{{- else }}
{{- $_ := set $object.metadata "name" (include "olap-warden.clusterName" (dict "root" $root "name" $object.metadata.name)) }}
{{- end }}
{{- if eq "ClusterRole" (dig "roleRef" "kind" "" $object) }}
{{- $_ := set $object.roleRef "name" (include "olap-warden.clusterName" (dict "root" $root "name" $object.roleRef.name)) }}
{{- end }}
{{- if not $root.Values.rbac.aggregate }}
{{- range list "view" "edit" "admin" }}
{{- $_ := unset $object.metadata.labels (printf "rbac.authorization.k8s.io/aggregate-to-%s" .) }}
{{- end }}
{{- end }}
{{- $annotations := deepCopy $root.Values.commonAnnotations }}
{{- $component := ternary "operator" "gateway" (hasSuffix "-operator" $object.metadata.name) }}
{{- $account := (index $root.Values $component).serviceAccount }}
{{- if eq $object.kind "ServiceAccount" }}
{{- $_ := set $object.metadata "name" (include "olap-warden.serviceAccount" (dict "root" $root "component" $component)) }}
{{- $annotations = mergeOverwrite $annotations $root.Values.serviceAccount.annotations $account.annotations }}
{{- end }}
{{- with $annotations }}{{ $_ := set $object.metadata "annotations" . }}{{ end }}
{{- range $object.subjects }}
{{- $_ := set . "name" (include "olap-warden.serviceAccount" (dict "root" $root "component" $component)) }}
{{- $_ := set . "namespace" $root.Release.Namespace }}
{{- end }}
{{- $omitted := and (contains "-token-review." $object.metadata.name) (not $root.Values.rbac.tokenReview) }}
{{- if eq $object.kind "ServiceAccount" }}{{ $omitted = not $account.create }}{{ end }}
{{- if hasPrefix "rbac.authorization.k8s.io/" $object.apiVersion }}{{ $omitted = or $omitted (not $root.Values.rbac.create) }}{{ end }}
{{- if hasSuffix "AdmissionPolicyBinding" $object.kind }}
{{- $_ := set $object.spec "policyName" (include "olap-warden.clusterName" (dict "root" $root "name" $object.spec.policyName)) }}
{{- $_ := set $object.spec "matchResources" (dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" $root.Release.Namespace))) }}
{{- end }}
{{- if not $omitted }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
The label `namespace` of the metrics: the namespace of the release where the ServiceMonitor sets it. Empty where nothing is known about the label:
without the ServiceMonitor, or with relabelings that set or drop labels of that name.
*/}}
{{- define "olap-warden.metricsNamespace" -}}
{{- $known := .Values.metrics.serviceMonitor.enabled -}}
{{- range concat .Values.metrics.serviceMonitor.relabelings .Values.metrics.serviceMonitor.metricRelabelings -}}
{{- $drops := and (eq "labeldrop" (lower (.action | default ""))) (regexMatch (printf "^(?:%s)$" (.regex | default "")) "namespace") -}}
{{- $keeps := and (eq "labelkeep" (lower (.action | default ""))) (not (regexMatch (printf "^(?:%s)$" (.regex | default "")) "namespace")) -}}
{{- if or (eq "namespace" (.targetLabel | default "")) (eq "labelmap" (lower (.action | default ""))) $drops $keeps }}{{ $known = false }}{{ end -}}
{{- end -}}
{{- if $known }}{{ .Release.Namespace }}{{ end -}}
{{- end -}}

{{/* The matchers by which the alerts select the metrics of the release; empty: all metrics. */}}
{{- define "olap-warden.metricsSelector" -}}
{{- $namespace := include "olap-warden.metricsNamespace" . -}}
{{- $selector := .Values.metrics.alerts.selector -}}
{{- if $selector }}
{{- if not (regexMatch "^ *[a-zA-Z_][a-zA-Z0-9_]* *(=|!=|=~|!~) *\"[^\"{}]*\" *(, *[a-zA-Z_][a-zA-Z0-9_]* *(=|!=|=~|!~) *\"[^\"{}]*\" *)*$" $selector) }}
{{- fail (printf "metrics.alerts.selector must be label matchers such as cluster=\"main\",namespace=\"olap\", not `%s`" $selector) }}
{{- end }}
{{- $selector }}
{{- else if $namespace }}{{ printf "namespace=%q" $namespace }}
{{- end -}}
{{- end -}}

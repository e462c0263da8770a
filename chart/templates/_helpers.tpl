{{- define "fenceline.selector" -}}
app.kubernetes.io/name: fenceline
{{- end }}

{{- define "fenceline.labels" -}}
{{ include "fenceline.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "fenceline.image" -}}
{{- $flavour := ternary "-agents" "" .Values.image.agents -}}
{{ .Values.image.repository }}:{{ default (printf "%s%s" .Chart.AppVersion $flavour) .Values.image.tag }}
{{- end }}

{{- define "fenceline.metricsPort" -}}
{{ ternary .Values.monitoring.secure.port .Values.port .Values.monitoring.secure.enabled }}
{{- end }}

{{- define "fenceline.account" -}}
system:serviceaccount:{{ .Release.Namespace }}:fenceline
{{- end }}

{{/* What the schema cannot say: values that are fine by themselves, and not together or not here. */}}
{{- define "fenceline.check" -}}
{{- if eq .Values.remedies.namespace .Release.Namespace -}}
{{- fail (printf "remedies.namespace has to be another one than the operator's, %s: who writes a RemedyPolicy could use the operator's account and the Secrets of its devices" .Release.Namespace) -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled .Values.hostNetwork -}}
{{- fail "networkPolicy.enabled has no effect with hostNetwork: pods on the network of their machine are not subject to NetworkPolicies; switch one of them off" -}}
{{- end -}}
{{- if .Values.monitoring.secure.enabled -}}
{{- if not .Values.monitoring.secure.tlsSecret -}}
{{- fail "monitoring.secure.enabled needs monitoring.secure.tlsSecret: a Secret of type kubernetes.io/tls for the metrics" -}}
{{- end -}}
{{- if eq (int .Values.monitoring.secure.port) (int .Values.port) -}}
{{- fail "monitoring.secure.port has to be another one than port, where the probes are answered" -}}
{{- end -}}
{{- end -}}
{{- if or .Values.hostNetwork .Values.kdump.enabled -}}
{{- $namespace := lookup "v1" "Namespace" "" .Release.Namespace | default dict -}}
{{- $enforced := dig "metadata" "labels" "pod-security.kubernetes.io/enforce" "privileged" $namespace -}}
{{- if ne $enforced "privileged" -}}
{{- fail (printf "hostNetwork and kdump.enabled need host ports, which Pod Security %q of namespace %s refuses: kubectl label --overwrite namespace %s pod-security.kubernetes.io/enforce=privileged" $enforced .Release.Namespace .Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end }}

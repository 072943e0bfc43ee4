{{- /* tenancy.permissions gives fields of the definition the permissions that the kustomize component lists. */ -}}
{{- define "tenancy.permissions" -}}
{{- $component := fromYaml (.files.Get "manifests/components/granular/kustomization.yaml") }}
{{- range $patch := fromYamlArray (index $component.patches 0).patch }}
{{- $path := splitList "/" (trimPrefix "/" $patch.path) }}
{{- $node := $.object }}
{{- range $step := initial $path }}
{{- if kindIs "slice" $node }}{{ $node = index $node (int $step) }}{{ else }}{{ $node = get $node $step }}{{ end }}
{{- end }}
{{- $_ := set $node (last $path) $patch.value }}
{{- end }}
{{- end -}}

{{- /* tenancy.deployment names the image, and adds the flags, variables and volumes that the values ask for. */ -}}
{{- define "tenancy.deployment" -}}
{{- $values := .root.Values }}
{{- $_ := set .object.spec "replicas" $values.replicas }}
{{- $pod := .object.spec.template.spec }}
{{- $controller := index $pod.containers 0 }}
{{- $image := printf "%s:%s" $values.image.repository ($values.image.tag | default .root.Chart.AppVersion) }}
{{- with $values.image.digest }}{{ $image = printf "%s@%s" $image . }}{{ end }}
{{- $_ := set $controller "image" $image }}
{{- $_ := set $controller "resources" $values.resources }}
{{- $command := $controller.command }}
{{- if $values.fieldPermissions }}{{ $command = append $command "--field-permissions" }}{{ end }}
{{- if eq $values.sudo "Delegation" }}{{ $command = append $command "--sudo=Delegation" }}{{ end }}
{{- $_ := set $controller "command" (concat $command $values.args) }}
{{- range $field := list "env" "volumeMounts" }}
{{- with index $values $field }}{{ $_ := set $controller $field . }}{{ end }}
{{- end }}
{{- range $field := list "imagePullSecrets" "volumes" }}
{{- with index $values $field }}{{ $_ := set $pod $field . }}{{ end }}
{{- end }}
{{- end -}}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package alike

import (
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"
)

// kind describes one kind of object that is written.
type kind struct {
	name string
	// collection is the path of its resource, with %s for the version.
	collection, group, kind string
	versions                []string
	custom                  bool
	base                    func(version string) map[string]any
	// changes are JSON merge patches for the object, and status for its status.
	changes, status func(version string) []map[string]any
}

func document(text string) map[string]any {
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		panic(fmt.Errorf("%s: %w", text, err))
	}
	return out
}

func documents(texts ...string) []map[string]any {
	var out []map[string]any
	for _, text := range texts {
		out = append(out, document(text))
	}
	return out
}

func always(text string) func(string) map[string]any {
	return func(string) map[string]any { return document(text) }
}

// metadataChanges are changes of metadata. Servers must refuse some of them.
var metadataChanges = []string{
	"{}",
	"{metadata: {labels: {a: one}}}",
	"{metadata: {labels: {a: two, b: one}}}",
	"{metadata: {labels: {a: null}}}",
	"{metadata: {labels: null}}",
	"{metadata: {annotations: {example.com/a: one}}}",
	"{metadata: {annotations: {example.com/a: null, example.com/b: ''}}}",
	"{metadata: {finalizers: []}}",
	"{metadata: {labels: {a: not valid}}}",
	"{metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: first, uid: u1}, {apiVersion: v1, kind: Pod, name: second, uid: u2}]}}",
	"{metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: second, uid: u2}]}}",
}

func changes(texts ...string) func(string) []map[string]any {
	all := documents(append(append([]string{}, metadataChanges...), texts...)...)
	return func(string) []map[string]any { return all }
}

const podSpec = "containers: [{name: a, image: one, env: [{name: X, value: '1'}], ports: [{containerPort: 80}]}, {name: b, image: two}]"

// claims returns volumeClaimTemplates whose claims request a size.
func claims(size string) string {
	return "volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: " + size + "}}}}]"
}

var podStatus = func(string) []map[string]any {
	return documents(
		"{status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}",
		"{status: {conditions: [{type: Ready, status: 'False'}, {type: example.com/x, status: 'True'}]}}",
		"{status: {podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}]}}",
		"{metadata: {labels: {through: status}}}",
	)
}

var kinds = []kind{
	{
		name: "config map", collection: "/api/%s/namespaces/default/configmaps", kind: "ConfigMap", versions: []string{"v1"},
		base: always("{data: {a: one, b: two}}"),
		changes: changes("{data: {a: two}}", "{data: {a: null, c: three}}", "{data: null}", "{binaryData: {x: YQ==}}", "{binaryData: null}",
			"{immutable: false}", "{data: {'not a key!': x}}"),
	},
	{
		name: "pod", collection: "/api/%s/namespaces/default/pods", kind: "Pod", versions: []string{"v1"},
		base: always("{spec: {automountServiceAccountToken: false, " + podSpec + "}}"),
		changes: changes("{spec: {containers: [{name: a, image: three, env: [{name: X, value: '1'}], ports: [{containerPort: 80, protocol: TCP}]}, {name: b, image: two}]}}",
			"{spec: {activeDeadlineSeconds: 100}}", "{spec: {tolerations: [{key: k, operator: Exists}]}}", "{spec: {containers: [{name: a, image: one}]}}"),
		status: podStatus,
	},
	{
		name: "deployment", collection: "/apis/apps/%s/namespaces/default/deployments", group: "apps", kind: "Deployment", versions: []string{"v1"},
		base: always("{spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {" + podSpec + "}}}}"),
		changes: changes("{spec: {replicas: 3}}", "{spec: {replicas: null}}", "{spec: {paused: true}}", "{spec: {paused: false, minReadySeconds: 3}}",
			"{spec: {template: {metadata: {annotations: {example.com/restarted: now}}}}}",
			"{spec: {template: {spec: {containers: [{name: b, image: two}, {name: a, image: one, env: [{name: Y, value: ''}, {name: X, value: '2'}]}]}}}}",
			"{spec: {template: {spec: {containers: [{name: a, image: one, resources: {limits: {cpu: 1000m, memory: 1Gi}}}]}}}}",
			"{spec: {template: {spec: {containers: [{name: a, image: one, resources: {limits: {cpu: '1', memory: 1024Mi}}}]}}}}",
			"{spec: {strategy: {type: Recreate, rollingUpdate: null}}}", "{spec: {strategy: {type: RollingUpdate}}}",
			"{spec: {template: {spec: {volumes: [{name: v, emptyDir: {}}]}}}}", "{spec: {template: {spec: {containers: []}}}}"),
		status: func(string) []map[string]any {
			return documents("{status: {observedGeneration: 1, replicas: 1}}",
				"{status: {conditions: [{type: Available, status: 'True', reason: r, message: m}]}}", "{status: {conditions: null}}")
		},
	},
	{
		name: "service", collection: "/api/%s/namespaces/default/services", kind: "Service", versions: []string{"v1"},
		base: always("{spec: {clusterIP: None, selector: {a: b}, ports: [{name: http, port: 80}]}}"),
		changes: changes("{spec: {ports: [{name: http, port: 80, protocol: TCP}, {name: dns, port: 80, protocol: UDP}]}}",
			"{spec: {ports: [{name: http, port: 81, targetPort: web}]}}", "{spec: {selector: {a: null, c: d}}}", "{spec: {sessionAffinity: ClientIP}}"),
	},
	// Upstream compares specifications to find out whether an immutable field of these kinds
	// changes. Some of the changes only write the same value in another way, which is no change.
	{
		name: "stateful set", collection: "/apis/apps/%s/namespaces/default/statefulsets", group: "apps", kind: "StatefulSet", versions: []string{"v1"},
		base: always("{spec: {serviceName: web, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {" + podSpec + "}}, " + claims("1Gi") + "}}"),
		changes: changes("{spec: {replicas: 2}}", "{spec: {serviceName: other}}", "{spec: {podManagementPolicy: Parallel}}", "{spec: {minReadySeconds: 3}}",
			"{spec: {"+claims("1024Mi")+"}}", "{spec: {"+claims("2Gi")+"}}", "{spec: {template: {spec: {volumes: []}}}}", "{spec: {selector: {matchLabels: {app: other}}}}",
			"{spec: {template: {spec: {containers: [{name: a, image: one, resources: {requests: {cpu: 500m}}}]}}}}",
			"{spec: {template: {spec: {containers: [{name: a, image: one, resources: {requests: {cpu: '0.5'}}}]}}}}"),
	},
	{
		name: "job", collection: "/apis/batch/%s/namespaces/default/jobs", group: "batch", kind: "Job", versions: []string{"v1"},
		base: always("{spec: {suspend: true, manualSelector: true, selector: {matchLabels: {app: job}}, template: {metadata: {labels: {app: job}}, spec: {restartPolicy: Never, " + podSpec + "}}}}"),
		changes: changes("{spec: {parallelism: 2}}", "{spec: {completions: 3}}", "{spec: {suspend: false}}", "{spec: {suspend: true}}", "{spec: {backoffLimit: 2}}",
			"{spec: {template: {spec: {nodeSelector: {a: b}}}}}", "{spec: {template: {spec: {containers: [{name: a, image: one, resources: {requests: {cpu: 500m}}}]}}}}",
			"{spec: {template: {spec: {containers: [{name: a, image: one, resources: {requests: {cpu: '0.5'}}}]}}}}", "{spec: {selector: {matchLabels: {app: other}}}}",
			"{spec: {podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}]}}}", "{spec: {ttlSecondsAfterFinished: 5}}"),
	},
	{
		name: "claim", collection: "/api/%s/namespaces/default/persistentvolumeclaims", kind: "PersistentVolumeClaim", versions: []string{"v1"},
		base: always("{spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}"),
		changes: changes("{spec: {resources: {requests: {storage: 1024Mi}}}}", "{spec: {resources: {requests: {storage: '1073741824'}}}}", "{spec: {resources: {requests: {storage: 2Gi}}}}",
			"{spec: {resources: {limits: {storage: 3Gi}}}}", "{spec: {accessModes: [ReadWriteMany]}}", "{spec: {storageClassName: slow}}", "{spec: {volumeName: v}}", "{spec: {volumeMode: Block}}",
			"{spec: {selector: {matchLabels: {a: b}}}}", "{spec: {dataSource: {kind: PersistentVolumeClaim, name: other}}}"),
		status: func(string) []map[string]any {
			return documents("{status: {phase: Bound, capacity: {storage: 1Gi}}}", "{status: {phase: Bound, capacity: {storage: 1024Mi}}}", "{status: {phase: Pending}}")
		},
	},
	{
		name: "volume", collection: "/api/%s/persistentvolumes", kind: "PersistentVolume", versions: []string{"v1"},
		base: always("{spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp}}}"),
		changes: changes("{spec: {capacity: {storage: 1024Mi}}}", "{spec: {capacity: {storage: 2Gi}}}", "{spec: {hostPath: {path: /var}}}", "{spec: {hostPath: {path: /tmp, type: ''}}}",
			"{spec: {hostPath: null, nfs: {server: s, path: /}}}", "{spec: {persistentVolumeReclaimPolicy: Delete}}", "{spec: {volumeMode: Block}}",
			"{spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}}}}", "{spec: {claimRef: {name: c, namespace: default}}}"),
	},
	{
		name: "secret", collection: "/api/%s/namespaces/default/secrets", kind: "Secret", versions: []string{"v1"},
		base:    always("{type: Opaque, data: {a: YQ==}}"),
		changes: changes("{data: {a: Yg==}}", "{data: {a: null}}", "{data: {b: ''}}", "{stringData: {a: a}}", "{type: other}", "{immutable: true}", "{immutable: false}"),
	},
	{
		name: "role binding", collection: "/apis/rbac.authorization.k8s.io/%s/namespaces/default/rolebindings", group: "rbac.authorization.k8s.io", kind: "RoleBinding", versions: []string{"v1"},
		base: always("{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: jane}]}"),
		changes: changes("{roleRef: {name: edit}}", "{roleRef: {kind: Role}}", "{subjects: []}", "{subjects: null}", "{subjects: [{kind: User, name: joe}]}",
			"{subjects: [{kind: ServiceAccount, name: default, namespace: default}]}"),
	},
	{
		name: "storage class", collection: "/apis/storage.k8s.io/%s/storageclasses", group: "storage.k8s.io", kind: "StorageClass", versions: []string{"v1"},
		base: always("{provisioner: example.com/p, parameters: {a: b}}"),
		changes: changes("{parameters: {a: c}}", "{parameters: {a: null}}", "{parameters: null}", "{provisioner: other}", "{reclaimPolicy: Retain}", "{volumeBindingMode: WaitForFirstConsumer}",
			"{allowVolumeExpansion: true}", "{mountOptions: [x]}", "{mountOptions: []}"),
	},
	{
		name: "autoscaler", collection: "/apis/autoscaling/%s/namespaces/default/horizontalpodautoscalers", group: "autoscaling",
		kind: "HorizontalPodAutoscaler", versions: []string{"v1", "v2"},
		base: always("{spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}"),
		changes: func(version string) []map[string]any {
			if version == "v1" {
				return changes("{spec: {maxReplicas: 4}}", "{spec: {minReplicas: 2}}", "{spec: {targetCPUUtilizationPercentage: 60}}",
					"{spec: {targetCPUUtilizationPercentage: 70, maxReplicas: 5}}")(version)
			}
			return changes("{spec: {maxReplicas: 4}}", "{spec: {minReplicas: 2}}", "{spec: {behavior: {scaleDown: {stabilizationWindowSeconds: 10}}}}",
				"{spec: {metrics: [{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 50}}}]}}",
				"{spec: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}, {type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 50}}}]}}")(version)
		},
	},
	{
		name: "custom resource", collection: "/apis/pruned.example.com/%s/namespaces/default/widgets", group: "pruned.example.com",
		kind: "Widget", versions: []string{"v1", "v2"}, custom: true,
		base: always("{spec: {size: 1, parts: [{name: a, count: 1}], tags: [x], settings: {deep: {er: 1}}}}"),
		changes: changes("{spec: {size: 2}}", "{spec: {size: null, colour: red}}", "{spec: {parts: [{name: b, count: 2}, {name: a, count: 1}]}}",
			"{spec: {parts: [{name: a, count: 3}]}}", "{spec: {tags: [other, x]}}", "{spec: {tags: []}}", "{spec: {settings: {deep: {er: 1.5}, list: [1, {a: b}]}}}",
			"{spec: {settings: {deep: null}}}", "{spec: {parts: null}}", "{spec: {steps: [{run: a}, {run: b}]}}", "{spec: {size: three}}", "{spec: {unknown: 1}}"),
		status: func(string) []map[string]any {
			return documents("{status: {conditions: [{type: A, status: 'True'}]}}", "{status: {conditions: [{type: B, status: 'True'}, {type: A, status: 'False'}]}}", "{status: null}")
		},
	},
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.pruned.example.com}
spec:
  group: pruned.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions: [VERSION1, VERSION2]
`

const version = `{name: NAME, served: true, storage: STORED, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {
  spec: {type: object, properties: {
    size: {type: integer, default: 1}, colour: {type: string},
    parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, count: {type: integer}}}},
    tags: {type: array, x-kubernetes-list-type: set, items: {type: string}},
    steps: {type: array, items: {type: object, properties: {run: {type: string}}}},
    settings: {type: object, x-kubernetes-preserve-unknown-fields: true}}},
  status: {type: object, properties: {conditions: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type], items: {type: object, required: [type], properties: {type: {type: string}, status: {type: string}}}}}}}}}}`

// merge returns a merge patch with the effects of a and then b.
func merge(a, b map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range a {
		out[name] = value
	}
	for name, value := range b {
		below, ok := value.(map[string]any)
		above, both := out[name].(map[string]any)
		if ok && both {
			out[name] = merge(above, below)
		} else {
			out[name] = value
		}
	}
	return out
}

// overlay returns an object with a merge patch applied.
func overlay(object map[string]any, change map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range object {
		out[name] = value
	}
	for name, value := range change {
		below, ok := value.(map[string]any)
		switch above, both := out[name].(map[string]any); {
		case value == nil:
			delete(out, name)
		case ok && both:
			out[name] = overlay(above, below)
		case ok:
			out[name] = overlay(map[string]any{}, below)
		default:
			out[name] = value
		}
	}
	return out
}

func TestOverlay(t *testing.T) {
	got := overlay(document("{a: {b: 1, c: 2}, d: 1}"), document("{a: {b: null, e: {f: null, g: 1}}, d: 2}"))
	if want := "{a: {c: 2, e: {g: 1}}, d: 2}"; cmpDiff(document(want), got) != "" {
		t.Error(cmpDiff(document(want), got))
	}
}

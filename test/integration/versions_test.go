// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

// versioned holds an object of every built-in kind that is served in several versions.
var versioned = map[string]string{
	"horizontalpodautoscalers.autoscaling":                         `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: v}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 50}}}]}}`,
	"leasecandidates.coordination.k8s.io":                          `{apiVersion: coordination.k8s.io/v1beta1, kind: LeaseCandidate, metadata: {name: v}, spec: {leaseName: l, binaryVersion: 1.0.0, emulationVersion: 1.0.0, strategy: OldestEmulationVersion}}`,
	"storageversionmigrations.storagemigration.k8s.io":             `{apiVersion: storagemigration.k8s.io/v1, kind: StorageVersionMigration, metadata: {name: v}, spec: {resource: {group: apps, resource: deployments}}}`,
	"mutatingadmissionpolicies.admissionregistration.k8s.io":       `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: v}, spec: {reinvocationPolicy: Never, matchConstraints: {resourceRules: [{apiGroups: [none.example.com], apiVersions: ["*"], operations: [CREATE], resources: ["*"]}]}, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{}"}}]}}`,
	"mutatingadmissionpolicybindings.admissionregistration.k8s.io": `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: v}, spec: {policyName: none}}`,
	"deviceclasses.resource.k8s.io":                                `{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: v}, spec: {}}`,
	"resourceclaims.resource.k8s.io":                               `{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: v}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c}}]}}}`,
	"resourceclaimtemplates.resource.k8s.io":                       `{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: v}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c}}]}}}}`,
	"resourceslices.resource.k8s.io":                               `{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: v}, spec: {driver: d.example.com, nodeName: node, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: d}]}}`,
	"devicetaintrules.resource.k8s.io":                             `{apiVersion: resource.k8s.io/v1, kind: DeviceTaintRule, metadata: {name: v}, spec: {deviceSelector: {driver: d.example.com}, taint: {key: example.com/k, effect: NoSchedule}}}`,
	"clustertrustbundles.certificates.k8s.io":                      trustBundle(),
	"podcertificaterequests.certificates.k8s.io":                   podCertificateRequest(),
}

// trustBundle returns a ClusterTrustBundle with a throwaway certificate.
func trustBundle() string {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	spec, _ := json.Marshal(map[string]any{"trustBundle": string(harness.CABundle(server))})
	return `{apiVersion: certificates.k8s.io/v1, kind: ClusterTrustBundle, metadata: {name: v}, spec: ` + string(spec) + `}`
}

// podCertificateRequest returns a PodCertificateRequest that is signed with its own key, as the
// server requires.
func podCertificateRequest() string {
	const pod = "11111111-1111-1111-1111-111111111111"
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	request, _ := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	spec, _ := json.Marshal(map[string]any{
		"signerName": "example.com/signer", "podName": "p", "podUID": pod, "serviceAccountName": "s", "serviceAccountUID": pod,
		"nodeName": "n", "nodeUID": pod, "stubPKCS10Request": request,
	})
	return `{apiVersion: certificates.k8s.io/v1, kind: PodCertificateRequest, metadata: {name: v}, spec: ` + string(spec) + `}`
}

// TestEveryVersion writes a label through every version of each built-in kind that has several
// versions. The version of the request decides about permissions. Fields that this version
// can't express are neither lost nor counted as changes of the caller.
func TestEveryVersion(t *testing.T) {
	s := onStage(t)
	client, err := discovery.NewDiscoveryClientForConfig(harness.Config(t, s.Cluster, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string][]schema.GroupVersionKind{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "patch") || strings.HasSuffix(gv.Group, "example.com") {
				continue
			}
			name := schema.GroupResource{Group: gv.Group, Resource: r.Name}.String()
			versions[name] = append(versions[name], gv.WithKind(r.Kind))
		}
	}
	several := 0
	for name, kinds := range versions {
		if len(kinds) < 2 {
			continue
		}
		several++
		t.Run(name, func(t *testing.T) {
			manifest, ok := versioned[name]
			if !ok {
				t.Fatalf("there is no object to write: %v", kinds)
			}
			path, live := s.CreateObject(t, manifest)
			version := live["apiVersion"].(string)
			for _, kind := range kinds {
				t.Run(kind.Version, func(t *testing.T) {
					path := strings.Replace(path, version, kind.GroupVersion().String(), 1)
					for i, way := range []string{"merge", "strategic", "apply", "json"} {
						label := map[string]any{"a.example.com/x": fmt.Sprintf("%s-%d", kind.Version, i)}
						query, method, body := "", http.MethodPatch, map[string]any{"metadata": map[string]any{"labels": label}}
						switch way {
						case "apply":
							query = "?force=true&fieldManager=" + kind.Version
							body["apiVersion"], body["kind"] = kind.GroupVersion().String(), kind.Kind
							harness.Metadata(t, body)["name"] = harness.Metadata(t, live)["name"]
						case "json":
							method = http.MethodPut
							now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
							body = corpus.Overlay(now, corpus.Object(body))
						}
						s.Twins(t, path, "cannot change .metadata.labels[a.example.com/x]", []string{"granular:label(a.example.com)", "granular"}, func(user string) harness.Answer {
							if way == "json" {
								delete(harness.Metadata(t, body), "resourceVersion")
								harness.Metadata(t, body)["resourceVersion"] = harness.Metadata(t, s.MustSend(t, http.MethodGet, path, "", nil).Object(t))["resourceVersion"]
							}
							return s.Send(t, user, method, path+query, harness.ContentTypes[way], body)
						})
					}
				})
			}
			now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
			if before, after := fmt.Sprint(live["spec"]), fmt.Sprint(now["spec"]); before != after {
				t.Errorf("writing labels changed the specification:\n%s\n%s", before, after)
			}
		})
	}
	if several == 0 {
		t.Error("no kind is served in several versions")
	}
}

// TestConversionWebhook checks that the server judges a write of a custom resource in the
// version of the request, even if a conversion webhook converts it to another stored version.
func TestConversionWebhook(t *testing.T) {
	s := onStage(t)
	server := harness.ServeWebhook(t, renaming(map[string]string{"size": "length"}))
	manifest, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gizmos.versions.example.com"},
		"spec": map[string]any{
			"group": "versions.example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList"},
			"versions": []any{
				map[string]any{"name": "v1", "served": true, "storage": true, "schema": gizmoSchema("size")},
				map[string]any{"name": "v2", "served": true, "storage": false, "schema": gizmoSchema("length")},
			},
			"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"conversionReviewVersions": []string{"v1"},
				"clientConfig":             map[string]any{"url": server.URL, "caBundle": harness.CABundle(server)},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Install(t, manifest)
	path, _ := s.CreateObject(t, `{apiVersion: versions.example.com/v1, kind: Gizmo, metadata: {name: g}, spec: {size: 1}}`)
	for version, field := range map[string]string{"v1": "size", "v2": "length"} {
		t.Run(version, func(t *testing.T) {
			path := strings.Replace(path, "/v1/", "/"+version+"/", 1)
			s.Twins(t, path, "cannot change .metadata.labels[a.example.com/x]", []string{"granular:label(a.example.com)", "granular"}, func(user string) harness.Answer {
				return s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"labels":{"a.example.com/x":"`+version+`"}}}`)
			})
			s.Twins(t, path, "cannot change .metadata.annotations[a.example.com/x]", []string{"granular:annotation(a.example.com)", "granular"}, func(user string) harness.Answer {
				now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
				if now["spec"].(map[string]any)[field] == nil {
					t.Fatalf("it is not converted: %v", now)
				}
				return s.Send(t, user, http.MethodPut, path, harness.ContentTypes["json"],
					corpus.Overlay(now, corpus.Object{"metadata": map[string]any{"annotations": map[string]any{"a.example.com/x": version}}}))
			})
			s.Callers.AddCaller("resizer-"+version, "granular", "granular:metadata", "granular:status") // without granular:specification
			a := s.Send(t, "resizer-"+version, http.MethodPatch, path, harness.ContentTypes["merge"], `{"spec":{"`+field+`":5}}`)
			if a.Code != http.StatusForbidden || !strings.Contains(a.Message(), "cannot change .spec."+field+" ") {
				t.Errorf("got %s", a)
			}
		})
	}
}

func gizmoSchema(field string) map[string]any {
	return map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
		"spec": map[string]any{"type": "object",
			"properties": map[string]any{field: map[string]any{"type": "integer"}}},
	}}}
}

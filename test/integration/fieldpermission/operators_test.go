// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness"
)

// operator is a custom resource of an operator, with one field that gets a permission.
type operator struct {
	name, kind, version, path, permission string
	// collection is the path of the collection. object is a spec, field changes the field in a merge patch, and other
	// another field.
	collection, object, field, other string
}

var operators = []operator{
	{argo, "Application", "v1alpha1", ".spec.syncPolicy", "argoproj.io/syncPolicy", "/apis/argoproj.io/v1alpha1/namespaces/default/applications",
		`{"project":"p"}`, `{"syncPolicy":{"automated":{"prune":true}}}`, `{"project":"q"}`},
	{argo, "Application", "v1alpha1", ".spec.sources[*].repoURL", "argoproj.io/repository", "/apis/argoproj.io/v1alpha1/namespaces/default/applications",
		`{"project":"p","sources":[{"repoURL":"a","path":"x"}]}`, `{"sources":[{"repoURL":"b","path":"x"}]}`, `{"sources":[{"repoURL":"a","path":"y"}]}`},
	{"kustomizations.kustomize.toolkit.fluxcd.io", "Kustomization", "v1", ".spec.suspend", "fluxcd.io/suspend",
		"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/default/kustomizations", `{"path":"a"}`, `{"suspend":true}`, `{"path":"b"}`},
	{"certificates.cert-manager.io", "Certificate", "v1", ".spec.issuerRef", "cert-manager.io/issuer",
		"/apis/cert-manager.io/v1/namespaces/default/certificates", `{"secretName":"a","issuerRef":{"name":"i"}}`, `{"issuerRef":{"name":"j"}}`, `{"secretName":"b"}`},
	{"services.serving.knative.dev", "Service", "v1", ".spec.traffic", "knative.dev/traffic",
		"/apis/serving.knative.dev/v1/namespaces/default/services", `{"template":{"spec":{"a":"b"}}}`, `{"traffic":[{"revisionName":"r","percent":100}]}`, `{"template":{"spec":{"a":"c"}}}`},
	{"services.serving.knative.dev", "Service", "v1", ".spec.template.spec.hostNetwork", "knative.dev/hostNetwork",
		"/apis/serving.knative.dev/v1/namespaces/default/services", `{"template":{"spec":{"a":"b"}}}`, `{"template":{"spec":{"hostNetwork":true}}}`, `{"template":{"spec":{"a":"c"}}}`},
	{"xdatabases.platform.example.com", "XDatabase", "v1alpha1", ".spec.crossplane.compositionRef", "crossplane.io/compositionRef",
		"/apis/platform.example.com/v1alpha1/xdatabases", `{"size":"s"}`, `{"crossplane":{"compositionRef":{"name":"a"}}}`, `{"size":"l"}`},
}

// TestEntriesOfOperators holds, for resources with the shape of well-known operators, that an entry can be granted alone, that it
// grants nothing else, and that it can be closed for holders of update.
func TestEntriesOfOperators(t *testing.T) {
	define(t, server, "applications.yaml")
	define(t, server, "operators.yaml")
	for i, o := range operators {
		t.Run(o.name+o.path, func(t *testing.T) {
			verb, name := "granular:"+o.permission, fmt.Sprintf("o%d", i)
			path := o.collection + "/" + name
			parts := strings.Split(o.collection, "/")
			body := map[string]any{"apiVersion": parts[2] + "/" + parts[3], "kind": o.kind, "metadata": map[string]any{"name": name}, "spec": json.RawMessage(o.object)}
			server.MustSend(t, http.MethodPost, o.collection, harness.ContentTypes["json"], body)
			patch := func(user, spec string) harness.Answer {
				return server.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"spec":`+spec+`}`)
			}
			put(t, server, o.name, "", o.version, named(o.path, o.permission))
			server.Twins(t, path, verb, []string{verb, "granular", "get"}, func(user string) harness.Answer {
				return patch(user, o.field)
			})
			if a := patch(caller(server, "granular", verb, "get"), o.other); a.Code != http.StatusForbidden {
				t.Errorf("another field: %s", a)
			}
			if a := patch(caller(server, "patch", "get"), o.other); a.Code != http.StatusOK {
				t.Errorf("a holder of patch: %s", a)
			}
			server.MustSend(t, http.MethodPatch, path, harness.ContentTypes["jsonpatch"], `[{"op":"replace","path":"/spec","value":`+o.object+`}]`)
			a := server.Send(t, "", http.MethodPatch, fieldPermissions+"/"+o.name+"?fieldManager=test&force=true", harness.ContentTypes["apply"],
				object(o.name, v1alpha1.ModeEnforce, o.version, excluded(o.path, o.permission)))
			t.Cleanup(func() { remove(t, server, o.name) })
			if strings.Contains(o.path, "[*]") {
				// A list whose elements have no identity can be closed as a whole only.
				if a.Code != http.StatusUnprocessableEntity {
					t.Errorf("excluded: %s", a)
				}
				return
			}
			if a.Code >= 300 {
				t.Fatal(a)
			}
			server.Twins(t, path, "(excluded by FieldPermission "+o.name+")", []string{verb, "patch", "get"}, func(user string) harness.Answer {
				return patch(user, o.field)
			})
			if a := patch(caller(server, "patch", "get"), o.other); a.Code != http.StatusOK {
				t.Errorf("a holder of patch, another field: %s", a)
			}
		})
	}
}

// TestEntriesAreConverted holds that a closed field is closed in every version that a webhook converts, at its other path too.
//
// Attack: writing the closed field through another served version, where it has another path
// Answer: the objects are converted to the version of the paths, and compared there
func TestEntriesAreConverted(t *testing.T) {
	webhook := harness.ServeWebhook(t, harness.ConversionWebhook(func(object map[string]any, to string) {
		spec, _ := object["spec"].(map[string]any)
		if spec == nil {
			return
		}
		if to == "v2" {
			if size, found := spec["size"]; found {
				spec["dimensions"] = map[string]any{"size": size}
			}
			delete(spec, "size")
			return
		}
		if dimensions, ok := spec["dimensions"].(map[string]any); ok {
			spec["size"] = dimensions["size"]
		}
		delete(spec, "dimensions")
	}))
	text, err := os.ReadFile("testdata/converted.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		t.Fatal(err)
	}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &webhook.URL, CABundle: harness.CABundle(webhook)},
		},
	}
	if text, err = yaml.Marshal(crd); err != nil {
		t.Fatal(err)
	}
	server.Install(t, text)
	put(t, server, "crates.hooked.example.com", v1alpha1.ModeEnforce, "v1", excluded(".spec.size", "example.com/size"))
	collection := "/apis/hooked.example.com/%s/namespaces/default/crates"
	for version, bodies := range map[string][2]string{
		"v1": {`{"spec":{"size":2}}`, `{"spec":{"color":"red"}}`},
		"v2": {`{"spec":{"dimensions":{"size":2}}}`, `{"spec":{"color":"blue"}}`},
	} {
		server.MustSend(t, http.MethodPost, fmt.Sprintf(collection, "v1"), harness.ContentTypes["json"],
			fmt.Sprintf(`{"apiVersion":"hooked.example.com/v1","kind":"Crate","metadata":{"name":%q},"spec":{"size":1}}`, "by-"+version))
		path := fmt.Sprintf(collection, version) + "/by-" + version
		server.Twins(t, path, "(excluded by FieldPermission crates.hooked.example.com)", []string{"granular:example.com/size", "patch", "get"},
			func(user string) harness.Answer {
				return server.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], bodies[0])
			})
		if a := server.Send(t, caller(server, "patch", "get"), http.MethodPatch, path, harness.ContentTypes["merge"], bodies[1]); a.Code != http.StatusOK {
			t.Errorf("%s, another field: %s", version, a)
		}
	}
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/pkg/cli/export"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/test/integration/harness"
)

// corpusLimits are the scenarios in which a policy decides otherwise, with the printed limit.
var corpusLimits = map[string]string{
	"a node":                                    "the server keeps the status of a new node, so it is the caller's",
	"a cordoned node by who may cordon":         "the server keeps the status of a new node, so it is the caller's",
	"finalizers in another order":               "the order of a list that the role does not open",
	"a new order of an object's own finalizers": "the order of a list that the role does not open",
	"conditions of a node in another order":     "the order of a list that the role does not open",
	"seventy labels of seventy domains":         "no limit of verbs",

	"the bounds of an autoscaler in the other version": "the subjects write in one version",
	"a door with the default alarm":                    "an excluded field with its default in a new element",
}

// exportedScenario is a scenario with the object on the server.
type exportedScenario struct {
	*corpus.Scenario
	user, collection string
	// verbs are those of the role, besides get and granular.
	verbs []string
	// target is what the role is about.
	target *export.Target
	// path and live are where the object is and what it is, if the scenario is no create.
	path string
	live map[string]any
	// method and body are the request.
	method string
	body   map[string]any
	// group and resource are what the role names.
	group, resource string
}

// TestExportedCorpus sends each scenario without webhooks to a server without patches, as a caller whose role is exported. Who holds
// update is a caller with the verb granular too, because a policy closes excluded fields to subjects of an export only. The decision
// is that of the corpus, but for printed limits.
func TestExportedCorpus(t *testing.T) {
	scenarios, err := corpus.Load("../../corpus")
	if err != nil {
		t.Fatal(err)
	}
	s := startStock(t)
	definitions := s.define(t)
	config := harness.Config(t, s.Cluster, "admin")
	config.Host = s.client.URL
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	cluster := export.ClusterKinds{Cluster: kinds.NewStock(client, mapper), Definitions: definitions}
	s.post(t, "/api/v1/namespaces/default/serviceaccounts", map[string]any{"metadata": map[string]any{"name": "default"}})
	var all []*exportedScenario
	whole := 0
	for i := range scenarios {
		one := &exportedScenario{Scenario: &scenarios[i], user: fmt.Sprintf("corpus-%d", i)}
		if one.Final != nil || one.LibraryOnly != "" || one.Answer != 0 {
			continue
		}
		if one.verbs = one.Grants; one.Unmarked {
			one.verbs = slices.Concat(one.Grants, []string{"create", "update", "patch"})
		}
		mapping, err := mapper.RESTMapping(one.GVK().GroupKind(), one.GVK().Version)
		if err != nil {
			t.Fatal(err)
		}
		resource := mapping.Resource.Resource
		if one.Subresource != "" {
			resource += "/" + one.Subresource
		}
		if err := s.grant(t, cluster, one.user, mapping.Resource.Group, resource, one.verbs); err != nil {
			if !strings.Contains(err.Error(), "allows every change") && !strings.Contains(err.Error(), "permission verb:") {
				t.Errorf("%s: %v", one.Name, err)
			}
			whole++
			continue
		}
		one.group, one.resource = mapping.Resource.Group, resource
		if one.target, err = cluster.Target(mapping.Resource.Group, mapping.Resource.Resource, one.Subresource); err != nil {
			t.Fatal(err)
		}
		if one.collection = "/apis/" + mapping.Resource.GroupVersion().String(); mapping.Resource.Group == "" {
			one.collection = "/api/v1"
		}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			one.collection += "/namespaces/default"
		}
		one.collection += "/" + mapping.Resource.Resource
		all = append(all, one)
	}
	s.inForce(t, cluster, "last")
	judged, invalid, filled := 0, 0, 0
	var allowed []*exportedScenario
	for _, one := range all {
		t.Run(one.Name, func(t *testing.T) {
			method, path, body, live := s.prepare(t, one)
			one.path, one.live = path, live
			code, answer := s.send(t, harness.Call{Method: method, Path: path, ContentType: asJSON, Body: body})
			if code >= http.StatusBadRequest {
				invalid++
				t.Skipf("an administrator's request fails too: %d %.300s", code, answer)
			}
			judged++
			want := (one.Decision == corpus.Allow) != (corpusLimits[one.Name] != "")
			got, why := s.send(t, harness.Call{As: rest.ImpersonationConfig{UserName: one.user}, Method: method, Path: path, ContentType: asJSON, Body: body})
			if got < http.StatusBadRequest && want {
				one.method, one.body = method, body
				allowed = append(allowed, one)
			}
			if (got < http.StatusBadRequest) == want {
				return
			}
			var stored map[string]any
			if err := json.Unmarshal([]byte(answer), &stored); err != nil {
				t.Fatal(err)
			}
			if want && (live == nil || !reflect.DeepEqual(withoutServers(body), withoutServers(stored))) {
				filled++ // a printed limit: what the server fills in counts as the caller's
				t.Logf("the server fills in more: %.300s", why)
				return
			}
			t.Errorf("%d, wanted allowed %v: %.600s", got, want, why)
		})
	}
	t.Logf("%d of %d scenarios, %d refused for what the server fills in, %d not valid on the server, %d with a role for everything or of no meaning",
		judged, len(scenarios), filled, invalid, whole)
	if judged < 150 || filled > 20 {
		t.Error("that is no test")
	}
	s.cross(t, all)
	s.without(t, cluster, allowed)
}

// define creates the definitions of the corpus, and returns them with the permissions that the server does not store.
func (s *stock) define(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("../../corpus/crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	read := export.NewRoles("default")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := read.Add(file, data); err != nil {
			t.Fatal(err)
		}
		s.must(t, "kubectl", string(data), "apply", "--validate=ignore", "-f", "-")
	}
	for _, d := range read.Definitions {
		version := d.Spec.Group + "/" + d.Spec.Versions[0].Name
		harness.Until(t, d.Name+" are served", func() bool {
			code, _ := s.send(t, harness.Call{Method: http.MethodGet, Path: "/apis/" + version + "/" + d.Spec.Names.Plural})
			_, schema := s.send(t, harness.Call{Method: http.MethodGet, Path: "/openapi/v3/apis/" + version})
			return code == http.StatusOK && strings.Contains(schema, `"`+d.Spec.Names.Kind+`"`)
		})
	}
	return read.Definitions
}

// without checks that each scenario that is allowed is refused to a caller whose role lacks one of the verbs that it used.
func (s *stock) without(t *testing.T, cluster export.Kinds, allowed []*exportedScenario) {
	type caller struct {
		*exportedScenario
		lacks, user string
	}
	var callers []caller
	for _, one := range allowed {
		for i, verb := range one.Grants {
			if !slices.Contains(one.Asked, verb) {
				continue
			}
			c := caller{one, verb, fmt.Sprintf("%s-without-%d", one.user, i)}
			rest := slices.DeleteFunc(slices.Clone(one.verbs), func(v string) bool { return v == verb })
			if err := s.grant(t, cluster, c.user, one.group, one.resource, rest); err != nil {
				t.Errorf("%s without %s: %v", one.Name, verb, err)
				continue
			}
			callers = append(callers, c)
		}
	}
	s.inForce(t, cluster, "without")
	for _, c := range callers {
		code, answer := s.send(t, harness.Call{As: rest.ImpersonationConfig{UserName: c.user}, Method: c.method, Path: c.path, ContentType: asJSON, Body: c.body})
		if code != http.StatusForbidden {
			t.Errorf("%s without %s: %d %.300s", c.Name, c.lacks, code, answer)
		}
	}
	t.Logf("%d requests of callers without a verb that the request needs", len(callers))
	if len(callers) < 50 {
		t.Error("that is no test")
	}
}

// inForce waits until the server uses all policies: until it refuses a change for a policy that is written last.
func (s *stock) inForce(t *testing.T, cluster export.Kinds, user string) {
	t.Helper()
	if err := s.grant(t, cluster, user, "", "configmaps", []string{"granular:data"}); err != nil {
		t.Fatal(err)
	}
	s.post(t, "/api/v1/namespaces/default/configmaps", map[string]any{"metadata": map[string]any{"name": user}})
	harness.Until(t, "the policies are in force", func() bool {
		code, answer := s.send(t, harness.Call{As: rest.ImpersonationConfig{UserName: user}, Method: http.MethodPatch,
			Path: "/api/v1/namespaces/default/configmaps/" + user + "?dryRun=All", ContentType: asMerge, Body: `{"immutable":true}`})
		return code == http.StatusForbidden && strings.Contains(answer, user+"-configmaps.core")
	})
}

// crossed is the number of writes that TestExportedCorpus makes of the change of one scenario, by the caller and on the object of
// another one of the same kind. There are some thousand such pairs, so a large number means all of them.
var crossed = flag.Int("crossed", 500, "writes of one scenario by the caller of another one, at most one of each pair")

// cross compares the decisions about pairs of scenarios, in random order, with those of the library, which is asked about the object
// that the server would store.
func (s *stock) cross(t *testing.T, all []*exportedScenario) {
	byKind := map[string][]*exportedScenario{}
	for _, one := range all {
		if one.live != nil && !slices.Contains(one.verbs, "update") && one.GVK().Version == one.target.Resource.Version {
			byKind[one.Kind+one.Subresource] = append(byKind[one.Kind+one.Subresource], one)
		}
	}
	var pairs [][2]*exportedScenario
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		for _, one := range byKind[kind] {
			for _, other := range byKind[kind] {
				pairs = append(pairs, [2]*exportedScenario{one, other})
			}
		}
	}
	rand.New(rand.NewPCG(1, 101)).Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	judged, allowed, order, defaults := 0, 0, 0, 0
	for _, pair := range pairs {
		if judged == *crossed {
			break
		}
		one, other := pair[0], pair[1]
		body := corpus.Overlay(one.live, corpus.Diff(other.Old, other.New))
		if metadata, ok := body["metadata"].(map[string]any); ok {
			metadata["name"] = one.live["metadata"].(map[string]any)["name"]
		}
		call := harness.Call{Method: http.MethodPut, Path: one.path, ContentType: asJSON, Body: body}
		code, answer := s.send(t, call)
		if code != http.StatusOK {
			continue // not valid on this object
		}
		var stored map[string]any
		if err := json.Unmarshal([]byte(answer), &stored); err != nil {
			t.Fatal(err)
		}
		want := permits(t, one, roundTrip(one.live), roundTrip(stored))
		call.As = rest.ImpersonationConfig{UserName: one.user}
		got, why := s.send(t, call)
		judged++
		if got == http.StatusOK {
			allowed++
		}
		switch {
		case (got == http.StatusOK) == want:
		case want && reflect.DeepEqual(sorted(withoutServers(one.live)), sorted(withoutServers(stored))):
			order++ // a printed limit
		case want && corpusLimits[other.Name] != "":
			order++
		case want && other.Kind == one.Kind && strings.Contains(why, ".spec.doors"):
			defaults++ // a printed limit: new doors have the default of an excluded field
		default:
			t.Errorf("%q with the role of %q: %d, the library %v: %.500s", other.Name, one.Name, got, want, why)
		}
	}
	t.Logf("%d crossed writes of %d pairs, %d allowed, %d refused for the order of a list, %d for a default",
		judged, len(pairs), allowed, order, defaults)
	if judged < min(*crossed, len(pairs)/4) || allowed < judged/50 {
		t.Error("that is no test")
	}
}

// holder answers from a list of verbs.
type holder []string

func (h holder) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	return slices.IndexFunc(verbs, func(v string) bool { return slices.Contains(h, v) }), nil
}

// permits is the library's answer for the role of a scenario. A policy has no limit of verbs.
func permits(t *testing.T, one *exportedScenario, before, after any) bool {
	t.Helper()
	changes, err := change.NewWalker(one.target.Tree).Compare(change.All, before, after)
	if err != nil {
		t.Fatal(err)
	}
	refusal, err := decide.New(holder(one.Grants), 1<<20).Decide(t.Context(), change.Answerable(changes, changes), true)
	if err != nil {
		t.Fatal(err)
	}
	return refusal == nil
}

// sorted returns v with all lists in one order.
func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = sorted(v[name])
		}
	case []any:
		for i := range v {
			v[i] = sorted(v[i])
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return v
}

// grant writes what an export makes of a role for one user.
func (s *stock) grant(t *testing.T, cluster export.Kinds, user, group, resource string, verbs []string) error {
	t.Helper()
	version := rbacv1.SchemeGroupVersion.String()
	meta := metav1.ObjectMeta{Name: user}
	role := marshal(t, &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ClusterRole"}, ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{group}, Resources: []string{resource}, Verbs: append([]string{"get", "granular"}, verbs...)}}})
	roles := export.NewRoles("default")
	if err := roles.Add("role", role); err != nil {
		return err
	}
	result, err := export.Export(roles, cluster, export.Options{Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}})
	if err != nil {
		return err
	}
	paths := map[string]string{
		"ValidatingAdmissionPolicy":        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
		"ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
		"ClusterRole":                      "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		"ClusterRoleBinding":               "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	}
	for _, o := range result.Objects {
		s.post(t, paths[o.GetObjectKind().GroupVersionKind().Kind], o)
	}
	return nil
}

func (s *stock) post(t *testing.T, path string, object any) {
	t.Helper()
	if code, answer := s.send(t, harness.Call{Method: http.MethodPost, Path: path, ContentType: asJSON, Body: string(marshal(t, object))}); code != http.StatusCreated {
		t.Fatalf("%s: %d %s", path, code, answer)
	}
}

// prepare stores the object of a scenario, and returns the request that changes it as a dry run. live is nil for a create.
func (s *stock) prepare(t *testing.T, one *exportedScenario) (method, path string, body, live map[string]any) {
	t.Helper()
	own := func(o corpus.Object) map[string]any {
		u := unstructured.Unstructured{Object: runtime.DeepCopyJSON(o)}
		u.SetGroupVersionKind(one.GVK())
		if u.GetName() != "" {
			u.SetName(harness.UniqueName(u.GetName(), "-", one.user))
		}
		return u.Object
	}
	if one.Old == nil {
		return http.MethodPost, one.collection + "?dryRun=All", own(one.New), nil
	}
	old := own(one.Old)
	name := (&unstructured.Unstructured{Object: old}).GetName()
	object := one.collection + "/" + name
	s.post(t, one.collection, old)
	if status, ok := old["status"]; ok && one.target.HasStatus {
		if code, answer := s.send(t, harness.Call{Method: http.MethodPatch, Path: object + "/status", ContentType: asMerge, Body: map[string]any{"status": status}}); code != http.StatusOK {
			t.Fatalf("%d %s", code, answer)
		}
	}
	code, answer := s.send(t, harness.Call{Method: http.MethodGet, Path: object})
	if err := json.Unmarshal([]byte(answer), &live); err != nil || code != http.StatusOK {
		t.Fatal(code, answer)
	}
	if one.Subresource != "" {
		object += "/" + one.Subresource
	}
	return http.MethodPut, object + "?dryRun=All", corpus.Overlay(live, corpus.Diff(one.Old, one.New)), live
}

// withoutServers returns an object without what a server writes in each update.
func withoutServers(o map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(roundTrip(o))
	metadata, _ := out["metadata"].(map[string]any)
	for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, name)
	}
	return out
}

// roundTrip decodes numbers in one way.
func roundTrip(o map[string]any) map[string]any {
	data, _ := json.Marshal(o)
	u := &unstructured.Unstructured{}
	if u.UnmarshalJSON(data) != nil {
		return o
	}
	return u.Object
}

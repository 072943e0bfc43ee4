// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roles"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

var (
	howMany = flag.Int("changes", 30, "how many random changes to try")
	seed    = flag.Uint64("seed", 1, "the seed of the random changes")
)

// TestRandomChanges makes random changes of objects of random kinds. The role that the plugin
// generates for a change must allow the change, and without any one of its verbs the server
// must refuse it. For a random set of verbs, the plugin's prediction must match the server's
// decision.
//
// An authorization webhook that knows the rules of each caller decides, so rules take effect at
// once.
func TestRandomChanges(t *testing.T) {
	stage := harness.StartServer(t)
	r := newRandom(t, stage)
	subRoles, foretold, allowed := 0, 0, 0
	for i := range *howMany {
		rehearsed := r.change(t)
		grants, err := roles.GrantsFor(t.Context(), []*changes.DryRun{rehearsed}, nil, roles.Options{})
		if err != nil {
			t.Fatalf("%d: %s: %v", i, rehearsed.String(), err)
		}
		rules := grants[0].Rules
		if err := r.try(t, rehearsed.Request, rules); err != nil {
			t.Errorf("%d: %s with %v, the role made for it: %v", i, rehearsed.String(), rules, err)
		}
		for at, verb := range rules[0].Verbs {
			less := slices.Clone(rules)
			less[0].Verbs = slices.Delete(slices.Clone(rules[0].Verbs), at, at+1)
			if err := r.try(t, rehearsed.Request, less); !apierrors.IsForbidden(err) {
				t.Errorf("%d: %s without %s of %v: %v, want it refused", i, rehearsed.String(), verb, rules, err)
			}
			subRoles++
		}
		was, is := r.foretell(t, rehearsed, rules)
		if was != is {
			t.Errorf("%d: %s: foretold %t, the server said %t", i, rehearsed.String(), was, is)
		}
		foretold++
		if is {
			allowed++
		}
	}
	t.Logf("%d changes of %d kinds; %d roles with a verb less refused; %d foretold, %d of them allowed", *howMany, len(r.tried), subRoles, foretold, allowed)
	if allowed == 0 || allowed == foretold {
		t.Errorf("%d of %d changes were allowed: the test needs both allowed and refused ones", allowed, foretold)
	}
}

// random makes random changes of a fixed set of objects.
type random struct {
	*rand.Rand
	stage     *harness.Server
	config    *rest.Config
	rehearser *changes.DryRunner
	objects   []unstructured.Unstructured
	tried     map[string]bool
}

func newRandom(t *testing.T, stage *harness.Server) *random {
	t.Helper()
	config := harness.Config(t, stage.Cluster, "admin")
	client, err := changes.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	discovered, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	cached := memory.NewMemCacheClient(discovered)
	r := &random{
		Rand: rand.New(rand.NewPCG(*seed, 1)), stage: stage, config: config, tried: map[string]bool{},
		rehearser: &changes.DryRunner{Kinds: kinds.New(cached, restmapper.NewDeferredDiscoveryRESTMapper(cached), nil),
			Client: client},
	}
	accounts, err := r.rehearser.Kinds.Lookup("serviceaccounts", "")
	if err != nil {
		t.Fatal(err)
	}
	// Pods need this service account, and no controller runs here that would create it.
	if _, err := r.send(t, client, changes.Request{Verb: "create", Kind: accounts, Namespace: "default"}, map[string]any{"metadata": map[string]any{"name": "default"}}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "test", "corpus", "base", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		u := unstructured.Unstructured{Object: harness.FromYAML(t, string(text))}
		k, err := r.rehearser.Kinds.Lookup(strings.TrimSuffix(filepath.Base(file), ".yaml"), "")
		if err != nil {
			continue // a custom resource that is not installed on this server
		}
		u.SetGroupVersionKind(k.Kind)
		u.SetName(u.GetName() + "-random")
		u.SetResourceVersion("")
		if k.Namespaced {
			u.SetNamespace("default")
		}
		created, err := r.send(t, client, changes.Request{Verb: "create", Kind: k, Namespace: u.GetNamespace(), Name: u.GetName()}, u.Object)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r.objects = append(r.objects, unstructured.Unstructured{Object: created})
	}
	if len(r.objects) < 15 {
		t.Fatalf("only %d objects to change", len(r.objects))
	}
	return r
}

// send sends a request that really writes and returns the answer.
func (r *random) send(t *testing.T, client changes.Sender, request changes.Request, body any) (map[string]any, error) {
	t.Helper()
	var data []byte
	switch b := body.(type) {
	case []byte:
		data = b
	default:
		var err error
		if data, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	of := request.Kind.Resource
	path := "/apis/" + of.Group + "/" + of.Version
	if of.Group == "" {
		path = "/api/" + of.Version
	}
	if request.Namespace != "" {
		path += "/namespaces/" + request.Namespace
	}
	path += "/" + of.Resource
	if request.Verb != "create" {
		path += "/" + url.PathEscape(request.Name)
	}
	if request.Subresource != "" {
		path += "/" + request.Subresource
	}
	method := map[string]string{"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch}[request.Verb]
	call := client.Verb(method).AbsPath(path).Body(data).SetHeader("Accept", "application/json")
	if request.Verb == "patch" {
		call.SetHeader("Content-Type", string(request.PatchType))
	} else {
		call.SetHeader("Content-Type", "application/json")
	}
	result := call.Do(t.Context())
	if err := result.Error(); err != nil {
		return nil, err
	}
	answer, err := result.Raw()
	if err != nil {
		t.Fatal(err)
	}
	return harness.FromYAML(t, string(answer)), nil
}

// change returns a dry run of a random change that the server accepts and that changes at least
// one field.
func (r *random) change(t *testing.T) *changes.DryRun {
	t.Helper()
	for range 2000 {
		u := r.objects[r.IntN(len(r.objects))]
		k, err := r.rehearser.Kinds.ForKind(u.GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}
		request := changes.Request{Kind: k, Namespace: u.GetNamespace(), Name: u.GetName()}
		if n := len(k.Subresources); n > 0 && r.IntN(3) == 0 {
			request.Subresource = k.Subresources[r.IntN(n)].Name
		}
		live, err := r.live(t, request)
		if err != nil {
			continue // some subresources, such as bindings, can't be read
		}
		wanted := runtime.DeepCopyJSON(live)
		for range 1 + r.IntN(3) {
			r.mutate(wanted)
		}
		r.form(t, &request, live, wanted)
		rehearsed, err := r.rehearser.Run(t.Context(), request)
		if err != nil || len(rehearsed.Changes) == 0 || !rehearsed.Sure {
			continue
		}
		r.tried[k.String()+"/"+request.Subresource] = true
		return rehearsed
	}
	t.Fatal("no change was found that the server takes")
	return nil
}

func (r *random) live(t *testing.T, request changes.Request) (map[string]any, error) {
	t.Helper()
	call := r.rehearser.Client.Get().SetHeader("Accept", "application/json").AbsPath(r.path(request))
	data, err := call.Do(t.Context()).Raw()
	if err != nil {
		return nil, err
	}
	return harness.FromYAML(t, string(data)), nil
}

func (r *random) path(request changes.Request) string {
	of := request.Kind.Resource
	path := "/apis/" + of.Group + "/" + of.Version
	if of.Group == "" {
		path = "/api/" + of.Version
	}
	if request.Namespace != "" {
		path += "/namespaces/" + request.Namespace
	}
	path += "/" + of.Resource + "/" + request.Name
	if request.Subresource != "" {
		path += "/" + request.Subresource
	}
	return path
}

// form writes the change as a PUT, a merge patch or a JSON patch.
func (r *random) form(t *testing.T, request *changes.Request, live, wanted map[string]any) {
	t.Helper()
	from, err := json.Marshal(live)
	if err != nil {
		t.Fatal(err)
	}
	to, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	if r.IntN(3) == 0 {
		request.Verb, request.Body = "update", to
		return
	}
	request.Verb, request.PatchType = "patch", types.MergePatchType
	if request.Body, err = jsonpatch.CreateMergePatch(from, to); err != nil {
		t.Fatal(err)
	}
	if r.IntN(3) == 0 {
		var fields map[string]any
		if err := json.Unmarshal(to, &fields); err != nil {
			t.Fatal(err)
		}
		var patch []map[string]any
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if name != "apiVersion" && name != "kind" {
				patch = append(patch, map[string]any{"op": "replace", "path": "/" + name, "value": fields[name]})
			}
		}
		request.PatchType = types.JSONPatchType
		if request.Body, err = json.Marshal(patch); err != nil {
			t.Fatal(err)
		}
	}
}

var keys = []string{"a", "team", "example.com/a", "example.com/b", "other.example/x", "kubectl.kubernetes.io/y"}

// mutate makes one random change to an object.
func (r *random) mutate(object map[string]any) {
	metadata := object["metadata"].(map[string]any)
	switch r.IntN(4) {
	case 0:
		of := []string{"labels", "annotations"}[r.IntN(2)]
		values, _ := metadata[of].(map[string]any)
		if values == nil {
			values = map[string]any{}
			metadata[of] = values
		}
		if key := keys[r.IntN(len(keys))]; values[key] == nil || r.IntN(2) == 0 {
			values[key] = fmt.Sprint("v", r.IntN(1000))
		} else {
			delete(values, key)
		}
	default:
		var leaves []func()
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if name == "apiVersion" || name == "kind" || name == "metadata" {
				continue
			}
			r.leaves(object, name, &leaves)
		}
		if len(leaves) > 0 {
			leaves[r.IntN(len(leaves))]()
		}
	}
}

// leaves collects functions that change or delete the value at a key of an object, or a value
// below it.
func (r *random) leaves(object map[string]any, key string, out *[]func()) {
	*out = append(*out, func() { delete(object, key) })
	switch v := object[key].(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			r.leaves(v, name, out)
		}
	case []any:
		for i := range v {
			switch e := v[i].(type) {
			case map[string]any:
				for _, name := range slices.Sorted(maps.Keys(e)) {
					r.leaves(e, name, out)
				}
			case string:
				*out = append(*out, func() { v[i] = e + "x" })
			}
		}
	case string:
		*out = append(*out, func() { object[key] = v + "x" })
	case int64:
		*out = append(*out, func() { object[key] = v + 1 }, func() { object[key] = v + 1 })
	case float64:
		*out = append(*out, func() { object[key] = v + 1 }, func() { object[key] = v + 1 })
	case bool:
		*out = append(*out, func() { object[key] = !v }, func() { object[key] = !v })
	}
}

// as returns a client configuration of a new caller that holds these rules.
func (r *random) as(rules []rbacv1.PolicyRule) *rest.Config {
	name := fmt.Sprint("random-", harness.Unique())
	r.stage.Callers.AddCallerFunc(name, func(q harness.Question) bool {
		// RBAC itself asks whether the caller may grant what a role allows.
		return q.Verb == "bind" || q.Verb == "escalate" || slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.Verbs, q.Verb) && slices.Contains(rule.APIGroups, q.Group) &&
				slices.Contains(rule.Resources, q.ResourceWithSubresource()) &&
				(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, q.Name))
		})
	})
	config := rest.CopyConfig(r.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name}
	return config
}

// try sends the request as a dry run by a caller that holds these rules.
func (r *random) try(t *testing.T, request changes.Request, rules []rbacv1.PolicyRule) error {
	t.Helper()
	client, err := changes.NewClient(r.as(rules))
	if err != nil {
		t.Fatal(err)
	}
	_, err = changes.Send(t.Context(), client, request)
	return err
}

// foretell gives a caller a random part of the relevant verbs. It returns the plugin's
// prediction for the change, and whether the server then allowed the change.
func (r *random) foretell(t *testing.T, rehearsed *changes.DryRun, rules []rbacv1.PolicyRule) (was, is bool) {
	t.Helper()
	var verbs []string
	for _, c := range rehearsed.Changes {
		for _, p := range c.Node.Chain() {
			if verb, err := c.Verb(t.Context(), nil, p); err == nil && r.IntN(2) == 0 {
				verbs = append(verbs, verb.String())
			}
		}
	}
	if r.IntN(8) > 0 {
		verbs = append(verbs, "granular")
	}
	if r.IntN(10) == 0 {
		verbs = append(verbs, rehearsed.Verb)
	}
	rule := *rules[0].DeepCopy()
	rule.Verbs = verbs
	config := r.as([]rbacv1.PolicyRule{rule})
	asking, err := authorizationclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	judgement, err := access.NewReviews(asking).Evaluate(t.Context(), rehearsed)
	if err != nil {
		t.Fatal(err)
	}
	client, err := changes.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.send(t, client, rehearsed.Request, rehearsed.Body)
	if err != nil && !apierrors.IsForbidden(err) {
		t.Fatalf("%s: %v", rehearsed.String(), err)
	}
	return judgement.Allowed, err == nil
}

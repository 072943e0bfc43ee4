// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/ui/model"
	"kube-granular.dev/pkg/cli/ui/snapshot"
)

const group = "apiVersion: " + tenancyGroup + "/v1alpha1\n"

// tenantObjects are two tenants and their requests, as the server has them.
var tenantObjects = []string{
	group + `kind: LNamespace
metadata: {name: books, uid: u, generation: 2, annotations: {tenancy.kube-granular.dev/creator: ops}}
spec:
  users:
  - {name: jane}
  - {kind: Group, name: devs, until: "2027-01-01T00:00:00Z"}
  - {kind: ServiceAccount, namespace: ci, name: robot, until: "2026-11-28T14:00:00+02:00"}
  managers: [{kind: User, name: ops}]
  sudoers: [{kind: User, name: jane, until: "2026-11-27T11:59:59Z"}, {kind: User, name: x, until: never}]
  sudo: {allow: [Quotas], approval: Required, maxDuration: 2h}
  billing: {account: "4711", labels: {a: b}}
status:
  namespaceUID: uid-of-the-namespace
  granted: {users: [{kind: User, name: jane}, {kind: ServiceAccount, namespace: ci, name: robot}], managers: [{kind: User, name: ops}]}
  leftovers: [{kind: Secret, name: old, maker: eve}]
  billing: {open: {sequence: 2, account: "4711", start: "2026-11-01T00:00:00Z"},
    pending: [{sequence: 1, start: "2026-10-01T00:00:00Z", end: "2026-11-01T00:00:00Z"}]}
  conditions: [{type: Ready, status: "True", observedGeneration: 2}, {type: Clean, status: "False", reason: Left, message: one object}]
`,
	group + "kind: LNamespace\nmetadata: {name: alone}\nspec: {}\n",
	group + `kind: SudoRequest
metadata: {namespace: books, name: open}
spec: {duration: 1h, reason: why, requester: {username: jane}, decision: {author: {username: ops}}}
status: {state: Granted, until: "2026-11-27T13:00:00Z"}
`,
	group + "kind: SudoRequest\nmetadata: {namespace: books, name: new}\nspec: {duration: 30m, reason: r, requester: {username: x}}\n",
	group + "kind: SudoRequest\nmetadata: {namespace: books, name: old}\nspec: {requester: {username: x}}\nstatus: {state: Ended}\n",
	group + "kind: SudoRequest\nmetadata: {namespace: alien, name: q}\nspec: {requester: {username: x}}\n",
}

const wantedTenants = `alone unknown "" 0 users, 0 managers, 0 sudoers
 Ready=unknown; Namespace=none belongs to the tenant; Sudo=everything in the namespace; Account=none
books yes "4711" 3 users, 1 manager, 2 sudoers
 Ready=yes; Namespace=belongs to the tenant; Sudo=everything in the namespace, and Quotas; Sudo is=on request, for 2h at most, and somebody else approves; Account=4711; Clean=Left: one object; Creator=ops
 users user jane true  
 users group devs false 2027-01-01T00:00:00Z 
 users serviceaccount ci/robot true 2026-11-28T14:00:00+02:00 soon
 managers user ops true  
 sudoers user jane false 2026-11-27T11:59:59Z ended
 sudoers user x false never ended
 request jane 1h Granted 2026-11-27T13:00:00Z ops why
 request x 30m Pending   r
 period "" 2026-10-01T00:00:00Z 2026-11-01T00:00:00Z
 period "4711" 2026-11-01T00:00:00Z 
 left Secret old eve
`

// tenantText writes tenants as text.
func tenantText(in *snapshot.Input) string {
	out := &strings.Builder{}
	slices.SortFunc(in.Tenants, func(a, b model.Tenant) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range in.Tenants {
		fmt.Fprintf(out, "%s %s %q %s\n", t.Name, t.Ready, t.Account, t.Members)
		var facts []string
		for _, f := range t.Facts {
			facts = append(facts, f[0]+"="+f[1])
		}
		fmt.Fprintf(out, " %s\n", strings.Join(facts, "; "))
		for _, p := range t.People {
			fmt.Fprintln(out, "", p.List, p.Word, p.Name, p.Granted, p.Until, p.End)
		}
		slices.SortFunc(t.Requests, func(a, b model.SudoRequest) int { return strings.Compare(a.State, b.State) })
		for _, q := range t.Requests {
			fmt.Fprintln(out, " request", q.Who, q.For, q.State, q.Until, q.DecidedBy, q.Reason)
		}
		for _, p := range t.Periods {
			fmt.Fprintf(out, " period %q %s %s\n", p.Account, p.Start, p.End)
		}
		for _, l := range t.Leftovers {
			fmt.Fprintln(out, " left", l.Kind, l.Name, l.Maker)
		}
	}
	return out.String()
}

// withTenants returns a cluster with the tenants above.
func withTenants(t *testing.T) (*Cluster, *fake.FakeDynamicClient) {
	t.Helper()
	var objects []runtime.Object
	for _, text := range tenantObjects {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	gv := schema.GroupVersion{Group: tenancyGroup, Version: "v1alpha1"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		gv.WithResource("lnamespaces"): "LNamespaceList", gv.WithResource("sudorequests"): "SudoRequestList",
	}, objects...)
	c, _, _ := cluster(t)
	c.Objects, c.Namespace = client, "books"
	c.Kinds = func() ([]*kinds.Kind, error) {
		return []*kinds.Kind{{Resource: gv.WithResource("lnamespaces"), Kind: gv.WithKind("LNamespace")}}, nil
	}
	return c, client
}

// TestTenants checks what the page knows of tenants, from a cluster and from files, and that a cluster without the
// kind is not asked for any.
func TestTenants(t *testing.T) {
	c, client := withTenants(t)
	in, err := c.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := tenantText(in); got != wantedTenants || !in.About.Tenants || len(in.Unknown) > 0 {
		t.Errorf("%v, %v, got\n%s\nwant\n%s", in.About.Tenants, in.Unknown, got, wantedTenants)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() != "list" {
			t.Errorf("the page sent %s", action.GetVerb())
		}
	}
	files := &Files{Namespace: "books", Now: now}
	if err := files.Add("tenants.yaml", []byte(strings.Join(tenantObjects, "---\n"))); err != nil {
		t.Fatal(err)
	}
	if in := files.Input(); tenantText(in) != wantedTenants || !in.About.Tenants || len(files.Ignored) > 0 {
		t.Errorf("of files: %v, got\n%s", files.Ignored, tenantText(in))
	}
	client.ClearActions()
	c.Kinds = func() ([]*kinds.Kind, error) { return nil, nil }
	if in, err = c.Collect(t.Context()); err != nil || in.About.Tenants || in.Tenants != nil || len(client.Actions()) > 0 {
		t.Errorf("without the kind: %v, %v, %d requests", err, in.Tenants, len(client.Actions()))
	}
}

// TestForbiddenTenants checks that tenants and requests that the caller may not read are unknown, and never none.
func TestForbiddenTenants(t *testing.T) {
	for name, tc := range map[string]struct {
		resource, namespace, want string
		tenants, requests         int
	}{
		"all may be read":              {"", "", "", 2, 2},
		"LNamespaces":                  {"lnamespaces", "*", "lnamespaces", 0, 0},
		"requests":                     {"sudorequests", "*", "sudorequests", 2, 0},
		"requests of other namespaces": {"sudorequests", "", "sudorequests  books", 2, 2},
	} {
		c, client := withTenants(t)
		if tc.resource != "" {
			client.PrependReactor("list", tc.resource, forbid(tc.resource, tc.namespace))
		}
		in, err := c.Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		requests := 0
		for i := range in.Tenants {
			requests += len(in.Tenants[i].Requests)
		}
		_, unknown, _ := strings.Cut(summary(in), "; ")
		if unknown != tc.want || !in.About.Tenants || len(in.Tenants) != tc.tenants || requests != tc.requests {
			t.Errorf("%s: %d tenants, %d requests, unknown %q", name, len(in.Tenants), requests, unknown)
		}
	}
	c, client := withTenants(t)
	client.PrependReactor("list", "sudorequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(schema.GroupResource{}, "")
	})
	if in, err := c.Collect(t.Context()); err != nil || len(in.Unknown) > 0 || len(in.Tenants) != 2 {
		t.Errorf("a cluster without requests: %v, %v", err, in.Unknown)
	}
}

// TestBrokenTenant checks that a tenant that can't be read is unknown, and the others are shown.
func TestBrokenTenant(t *testing.T) {
	c, client := withTenants(t)
	broken := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": tenancyGroup + "/v1alpha1", "kind": "LNamespace", "metadata": map[string]any{"name": "broken"}, "spec": "none",
	}}
	if err := client.Tracker().Add(broken); err != nil {
		t.Fatal(err)
	}
	in, err := c.Collect(t.Context())
	if err != nil || len(in.Tenants) != 2 || !strings.Contains(summary(in), "; lnamespaces broken") {
		t.Errorf("%v, %s", err, summary(in))
	}
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"
)

// cluster returns a client of a cluster with objects. Resources of unserved groups are not found.
func cluster(t *testing.T, unserved string, documents ...string) *fake.FakeDynamicClient {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{}
	all := []schema.GroupVersionResource{rbac("rolebindings")}
	for _, s := range sources {
		all = append(all, s.resource)
	}
	for _, resource := range all {
		lists[resource] = "List"
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	for _, document := range documents {
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: object}
		for _, resource := range all {
			if resource.Resource == strings.ToLower(u.GetKind())+"s" || resource.Resource == strings.TrimSuffix(strings.ToLower(u.GetKind()), "y")+"ies" {
				if err := client.Tracker().Create(resource, u, u.GetNamespace()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	client.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if resource := a.GetResource(); unserved != "" && resource.Group == unserved {
			return true, nil, apierrors.NewNotFound(resource.GroupResource(), "")
		}
		return false, nil, nil
	})
	return client
}

const closedDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  versions:
  - schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              secret: {type: string, x-kubernetes-permission-verb: example.com/secret, x-kubernetes-permission-excluded: true}
              parts:
                type: array
                items: {type: object, properties: {key: {type: string, x-kubernetes-permission-excluded: true}}}
              free: {type: string, x-kubernetes-permission-verb: example.com/free, x-kubernetes-permission-excluded: false}
  - name: v2
    schema:
      openAPIV3Schema: {properties: {spec: {properties: {secret: {x-kubernetes-permission-excluded: true}}}}}
`

// TestRead holds what is found in each sort of object, and what is not.
func TestRead(t *testing.T) {
	const stays = "stays in storage, where no client sees it"
	for name, c := range map[string]struct {
		object string
		want   []Finding
	}{
		"a definition that excludes fields": {closedDefinition, []Finding{
			{Open, "customresourcedefinitions/boxes.example.com", ".spec.parts[*].key is excluded now: whoever holds update or patch may change it"},
			{Open, "customresourcedefinitions/boxes.example.com", ".spec.secret is excluded now: whoever holds update or patch may change it"},
			{Lost, "customresourcedefinitions/boxes.example.com", "the permissions of its schema have no effect, and the server drops them when it writes the definition or its status: keep it as a file"}}},
		"a definition without permissions": {`{kind: CustomResourceDefinition, metadata: {name: a}, spec: {versions: [{schema: {openAPIV3Schema: {properties: {spec: {}}}}}, {}]}}`, nil},
		"a FieldPermission in force": {`{kind: FieldPermission, metadata: {name: services}, spec: {mode: Enforce, fields: [{path: .spec.a, permission: x/a, excluded: true}, {path: .spec.b, permission: x/b}]}}`, []Finding{
			{Open, "fieldpermissions/services", ".spec.a of services is closed now: whoever holds update or patch may change it"},
			{Lost, "fieldpermissions/services", ".spec.b of services can't be granted by granular:x/b"},
			{Left, "fieldpermissions/services", stays}}},
		"a FieldPermission that counts": {`{kind: FieldPermission, metadata: {name: services}, spec: {mode: Audit, fields: [{path: .spec.a, permission: x/a, excluded: true}]}}`, []Finding{
			{Left, "fieldpermissions/services", stays}}},
		"a protected label": {`{kind: ClusterProtectedAttribute, metadata: {name: tier}, spec: {attributeKind: Label, attributeName: example.com/tier}}`, []Finding{
			{Open, "clusterprotectedattributes/tier", "label example.com/tier: whoever may change an object may set and remove it"},
			{Left, "clusterprotectedattributes/tier", stays}}},
		"an attribute that counts": {`{kind: ProtectedAttribute, metadata: {name: tier, namespace: shop}, spec: {attributeKind: Label, attributeName: example.com/tier, mode: Audit}}`, []Finding{
			{Left, "protectedattributes/shop/tier", stays}}},
		"a bound account": {`{kind: ServiceAccount, metadata: {name: agent, namespace: shop, annotations: {authority.kube-granular.dev/acts-under: "{}"}}}`, []Finding{
			{Open, "serviceaccounts/shop/agent", "acts with its own permissions, and not under its delegation; delete it, or what binds it to roles"}}},
		"an account that was released": {`{kind: ServiceAccount, metadata: {name: agent, namespace: shop, annotations: {authority.kube-granular.dev/acts-under: ""}}}`, nil},
		"a delegation": {`{kind: AuthorityDelegation, metadata: {name: d}}`, []Finding{
			{Lost, "authoritydelegations/d", "its delegates have their own permissions only; the server ignores the header by which they select it"},
			{Left, "authoritydelegations/d", stays}}},
		"a policy": {`{kind: AuthorityDelegationPolicy, metadata: {name: p}}`, []Finding{
			{Lost, "authoritydelegationpolicies/p", "objects are stored without the stamps by which controllers act for their authors"},
			{Left, "authoritydelegationpolicies/p", stays}}},
		"a granular role": {`{kind: Role, metadata: {name: r, namespace: shop}, rules: [{verbs: [get]}, {verbs: [readmetadata, "granular:replicas"]}]}`, []Finding{
			{Lost, "roles/shop/r", "its granular verbs allow nothing; kubectl granular export vap writes what can stand in"},
			{Lost, "roles/shop/r", "its verb readmetadata allows nothing"}}},
		"a role with all verbs": {`{kind: ClusterRole, metadata: {name: r}, rules: [{verbs: ["*"]}]}`, nil},
		"upstream's role":       {`{kind: ClusterRole, metadata: {name: admin, labels: {kubernetes.io/bootstrapping: rbac-defaults}}, rules: [{verbs: [granular]}]}`, nil},
		"the server's role":     {`{kind: ClusterRole, metadata: {name: "system:kube-granular:x", labels: {kubernetes.io/bootstrapping: rbac-defaults}}}`, []Finding{{Left, "clusterroles/system:kube-granular:x", "a role that the server made"}}},
		"the server's binding":  {`{kind: ClusterRoleBinding, metadata: {name: "system:kube-granular:x"}}`, []Finding{{Left, "clusterrolebindings/system:kube-granular:x", "a binding that the server made"}}},
		"another binding":       {`{kind: ClusterRoleBinding, metadata: {name: x}}`, nil},
		"the server's lease":    {`{kind: Lease, metadata: {name: kube-granular-status, namespace: kube-system}}`, []Finding{{Left, "leases/kube-system/kube-granular-status", "a lease of the server"}}},
		"a lease of others":     {`{kind: Lease, metadata: {name: kube-granular-status, namespace: shop}}`, nil},
		"the group":             {`{kind: APIService, metadata: {name: v1alpha1.authority.kube-granular.dev}}`, []Finding{{Left, "apiservices/v1alpha1.authority.kube-granular.dev", "registers a group that no server serves; delete it when all servers are upstream's"}}},
		"another group":         {`{kind: APIService, metadata: {name: v1.apps}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(t.Context(), cluster(t, "", c.object))
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// TestReadIsComplete holds that a group that is not served is no error, and a list that is refused is one.
func TestReadIsComplete(t *testing.T) {
	client := cluster(t, "authority.kube-granular.dev", closedDefinition)
	got, err := Read(t.Context(), client)
	if err != nil || Count(got, Open) != 2 {
		t.Errorf("%v %v", got, err)
	}
	for _, s := range sources {
		client := cluster(t, "")
		client.PrependReactor("list", s.resource.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(s.resource.GroupResource(), "", errors.New("no"))
		})
		if got, err := Read(t.Context(), client); err == nil || !strings.Contains(err.Error(), s.resource.GroupResource().String()) {
			t.Errorf("%s: %v %v", s.resource, got, err)
		}
	}
}

// TestPrint holds the formats, and that the table fits.
func TestPrint(t *testing.T) {
	all := []Finding{{Open, "fieldpermissions/services", strings.Repeat("long ", 40)}, {Open, "fieldpermissions/services", "b"}, {Left, "leases/n/x", "c"}}
	for format, want := range map[string]string{
		"table": "2 open, 0 lost, 1 left behind", "wide": strings.Repeat("long ", 40), "json": `"effect": "Left"`, "yaml": "effect: Left",
	} {
		var out bytes.Buffer
		if err := Print(&out, format, all); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v %s", format, err, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if format == "table" && utf8.RuneCountInString(line) > 121 {
				t.Errorf("%d columns: %s", len(line), line)
			}
		}
	}
	if err := Print(&bytes.Buffer{}, "xml", all); err == nil {
		t.Error("xml is a format")
	}
}

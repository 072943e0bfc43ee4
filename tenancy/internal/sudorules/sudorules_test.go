// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudorules_test

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/tenancy/internal/sudorules"
)

func list(groupVersion string, resources ...metav1.APIResource) *metav1.APIResourceList {
	return &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: resources}
}

func resource(name string, namespaced bool, verbs ...string) metav1.APIResource {
	return metav1.APIResource{Name: name, Namespaced: namespaced, Verbs: verbs}
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// text returns rules as text, with one rule in each line.
func text(rules []rbacv1.PolicyRule) string {
	var lines []string
	for _, r := range rules {
		line := strings.Join(r.APIGroups, ",") + "/" + strings.Join(r.Resources, ",") + " " + strings.Join(r.Verbs, ",")
		if len(r.ResourceNames) > 0 {
			line += " " + strings.Join(r.ResourceNames, ",")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestFor(t *testing.T) {
	all := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	for name, tc := range map[string]struct {
		discovered []*metav1.APIResourceList
		admin      []rbacv1.PolicyRule
		want       string
	}{
		"namespaced alone": {
			discovered: []*metav1.APIResourceList{list("v1", resource("pods", true, all...), resource("nodes", false, all...), resource("namespaces", false, all...), resource("pods/exec", true, "create", "get"))},
			admin:      []rbacv1.PolicyRule{rule("", "pods", all...), rule("", "pods/exec", "create", "get")},
			want:       "/pods get,list,watch,create,update,patch,delete,deletecollection\n/pods/exec get,create",
		},
		"all versions of a group": {
			discovered: []*metav1.APIResourceList{list("a.b/v1", resource("x", true, "get")),
				list("a.b/v2", resource("x", true, "create"), resource("y", true, "get", "create"))},
			want: "a.b/x,y get,create",
		},
		"what is withheld is read": {
			discovered: []*metav1.APIResourceList{
				list("v1", resource("resourcequotas", true, all...), resource("resourcequotas/status", true, "get", "patch"), resource("limitranges", true, all...)),
				list("authority.kube-granular.dev/v1alpha1", resource("protectedattributes", true, all...)),
			},
			admin: []rbacv1.PolicyRule{rule("", "namespaces", all...),
				rule("tenancy.kube-granular.dev", "lnamespaces", all...)},
			want: "/limitranges,namespaces,resourcequotas get,list,watch\n/resourcequotas/status get\nauthority.kube-granular.dev/protectedattributes get,list,watch\ntenancy.kube-granular.dev/lnamespaces get,list,watch",
		},
		"what admin lacks is read": {
			discovered: []*metav1.APIResourceList{
				list("v1", resource("services", true, all...), resource("services/status", true, "get", "update", "patch"), resource("endpoints", true, all...),
					resource("bindings", true, "create"), resource("pods/binding", true, "create"), resource("pods/eviction", true, "create")),
				list("discovery.k8s.io/v1", resource("endpointslices", true, all...)),
				list("certificates.k8s.io/v1beta1", resource("podcertificaterequests", true, all...), resource("podcertificaterequests/status", true, "get", "patch")),
				list("networking.k8s.io/v1", resource("ingresses/status", true, "get", "patch")),
				list("storage.k8s.io/v1", resource("csistoragecapacities", true, all...)),
			},
			admin: []rbacv1.PolicyRule{rule("", "services", all...), rule("", "pods/eviction", "create")},
			want: "/endpoints get,list,watch\n/pods/eviction create\n/services get,list,watch,create,update,patch,delete,deletecollection\n/services/status get\n" +
				"certificates.k8s.io/podcertificaterequests get,list,watch\ncertificates.k8s.io/podcertificaterequests/status get\n" +
				"discovery.k8s.io/endpointslices get,list,watch\nnetworking.k8s.io/ingresses/status get\nstorage.k8s.io/csistoragecapacities get,list,watch",
		},
		"what admin has is kept": {
			discovered: []*metav1.APIResourceList{list("v1", resource("endpoints", true, all...), resource("services/status", true, "get", "patch"))},
			admin:      []rbacv1.PolicyRule{rule("", "endpoints", "create", "bind"), rule("", "services/status", "patch")},
			want:       "/endpoints get,list,watch,create\n/services/status get,patch",
		},
		"parts of what admin has": {
			discovered: []*metav1.APIResourceList{list("v1", resource("pods/ephemeralcontainers", true, "get", "patch", "update"), resource("pods/resize", true, "get", "patch"),
				resource("podtemplates", true, all...)), list("apps/v1", resource("controllerrevisions", true, all...), resource("tomorrows", true, all...))},
			want: "/pods/ephemeralcontainers get,update,patch\n/pods/resize get,patch\n/podtemplates get,list,watch,create,update,patch,delete,deletecollection\n" +
				"apps/controllerrevisions get,list,watch,create,update,patch,delete,deletecollection\napps/tomorrows get,list,watch",
		},
		"the status of a custom resource": {
			discovered: []*metav1.APIResourceList{list("e.example.com/v1", resource("widgets/status", true, "get", "patch"), resource("endpoints", true, "create")),
				list("gateway.networking.k8s.io/v1", resource("gateways/status", true, "get", "patch"))},
			want: "e.example.com/endpoints create\ne.example.com/widgets/status get,patch\ngateway.networking.k8s.io/gateways/status get,patch",
		},
		"no other verbs": {
			discovered: []*metav1.APIResourceList{list("rbac.authorization.k8s.io/v1", resource("roles", true, "get", "bind", "escalate"))},
			admin: []rbacv1.PolicyRule{rule("", "serviceaccounts", "impersonate"),
				rule("", "users", "impersonate"),
				rule("apps", "deployments", "granular", "granular:replicas", "approve", "*")},
			want: "/serviceaccounts impersonate\nrbac.authorization.k8s.io/roles get",
		},
		"no stars": {
			admin: []rbacv1.PolicyRule{rule("*", "pods", "get"), rule("a", "*", "get"), rule("a", "*/scale", "get"),
				rule("a", "x", "get")},
			want: "a/x get",
		},
		"named objects": {
			admin: []rbacv1.PolicyRule{{APIGroups: []string{"a"}, Resources: []string{"x"}, Verbs: []string{"get"}, ResourceNames: []string{"one", "two"}}},
			want:  "a/x get one,two",
		},
	} {
		if got := text(sudorules.For(tc.discovered, tc.admin)); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tc.want)
		}
	}
}

// TestKept checks that only the rules for API groups whose discovery failed are kept.
func TestKept(t *testing.T) {
	old := []rbacv1.PolicyRule{rule("a", "x", "get"),
		{APIGroups: []string{"a", "b"}, Resources: []string{"y"}, Verbs: []string{"get"}}}
	if got := text(sudorules.KeepFailedGroups(old, map[string]bool{"b": true})); got != "b/y get" {
		t.Error(got)
	}
	if got := text(old); got != "a/x get\na,b/y get" {
		t.Errorf("the given rules were changed: %s", got)
	}
}

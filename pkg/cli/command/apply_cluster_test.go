// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kube-granular.dev/pkg/cli/roles"
)

// rbacKinds maps the resources of RBAC to their kinds.
var rbacKinds = map[string]string{
	"roles": "Role", "rolebindings": "RoleBinding", "clusterroles": "ClusterRole", "clusterrolebindings": "ClusterRoleBinding",
}

const rbacRoot = "/apis/rbac.authorization.k8s.io/v1"

// rbacServer stores roles and bindings by their paths.
type rbacServer struct {
	mutex   sync.Mutex
	objects map[string]any
	applied []string
	// hidden are the resources that can't be listed.
	hidden string
}

func pathOf(o runtime.Object) string {
	object := o.(metav1.Object)
	path := rbacRoot
	if object.GetNamespace() != "" {
		path += "/namespaces/" + object.GetNamespace()
	}
	for resource, kind := range rbacKinds {
		if kind == o.GetObjectKind().GroupVersionKind().Kind {
			path += "/" + resource
		}
	}
	return path + "/" + object.GetName()
}

func typeOf(kind string) metav1.TypeMeta { return metav1.TypeMeta{Kind: kind, APIVersion: "v1"} }

func (s *rbacServer) answer(req *http.Request) any {
	failure := func(code int32, reason metav1.StatusReason) any {
		return metav1.Status{TypeMeta: typeOf("Status"), Status: "Failure", Code: code, Reason: reason, Message: string(reason)}
	}
	path := req.URL.Path
	parent, resource := path[:strings.LastIndex(path, "/")], path[strings.LastIndex(path, "/")+1:]
	kind, lists := rbacKinds[resource]
	switch {
	case path == "/api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "/api/v1":
		return metav1.APIResourceList{TypeMeta: typeOf("APIResourceList"), GroupVersion: "v1"}
	case path == "/apis":
		version := metav1.GroupVersionForDiscovery{GroupVersion: rbacv1.SchemeGroupVersion.String(), Version: "v1"}
		return metav1.APIGroupList{TypeMeta: typeOf("APIGroupList"), Groups: []metav1.APIGroup{
			{Name: rbacv1.GroupName, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}}}
	case path == rbacRoot:
		out := metav1.APIResourceList{TypeMeta: typeOf("APIResourceList"), GroupVersion: rbacv1.SchemeGroupVersion.String()}
		for resource, kind := range rbacKinds {
			out.APIResources = append(out.APIResources, metav1.APIResource{Name: resource, SingularName: strings.ToLower(kind), Kind: kind,
				Namespaced: !strings.HasPrefix(kind, "Cluster"), Verbs: metav1.Verbs{"get", "list", "create", "update", "patch"}})
		}
		return out
	case path == "/openapi/v3":
		document := map[string]any{"serverRelativeURL": "/openapi/v3" + rbacRoot}
		return map[string]any{"paths": map[string]any{strings.TrimPrefix(rbacRoot, "/"): document}}
	case path == "/openapi/v3"+rbacRoot:
		type object = map[string]any
		labels := object{"labels": object{"type": "object", "x-kubernetes-permission-verb": "labels"}}
		schemas := object{"meta.ObjectMeta": object{"type": "object", "properties": labels}}
		for _, kind := range rbacKinds {
			metadata := object{"type": "object", "x-kubernetes-permission-verb": "metadata", "properties": labels}
			named := object{"group": rbacv1.GroupName, "version": "v1", "kind": kind}
			schemas[kind] = object{"type": "object", "x-kubernetes-group-version-kind": []any{named}, "properties": object{"metadata": metadata}}
		}
		return map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": schemas}}
	case lists && strings.Contains(" "+s.hidden+" ", " "+resource+" "):
		return failure(http.StatusForbidden, metav1.StatusReasonForbidden)
	case lists:
		items := []any{}
		for _, stored := range slices.Sorted(maps.Keys(s.objects)) {
			if strings.HasPrefix(stored, parent+"/") && strings.Contains(stored, "/"+resource+"/") {
				items = append(items, s.objects[stored])
			}
		}
		version := rbacv1.SchemeGroupVersion.String()
		return map[string]any{"kind": kind + "List", "apiVersion": version, "metadata": map[string]any{}, "items": items}
	case req.Method == http.MethodPatch:
		var object any
		if err := json.NewDecoder(req.Body).Decode(&object); err != nil {
			return failure(http.StatusBadRequest, metav1.StatusReasonBadRequest)
		}
		s.objects[path] = object
		s.applied = append(s.applied, strings.TrimPrefix(path, rbacRoot+"/"))
		return object
	case s.objects[path] != nil:
		return s.objects[path]
	}
	return failure(http.StatusNotFound, metav1.StatusReasonNotFound)
}

func (s *rbacServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	object := s.answer(req)
	w.Header().Set("Content-Type", "application/json")
	if status, ok := object.(metav1.Status); ok {
		w.WriteHeader(int(status.Code))
	}
	_ = json.NewEncoder(w).Encode(object)
}

// writeTo writes objects as --apply does to a server that has others.
func writeTo(t *testing.T, stored, objects []runtime.Object, hidden string) ([]string, error) {
	t.Helper()
	s := &rbacServer{objects: map[string]any{}, hidden: hidden}
	for _, o := range stored {
		content, err := roles.Content(o)
		if err != nil {
			t.Fatal(err)
		}
		s.objects[pathOf(o)] = content
	}
	server := httptest.NewServer(s)
	defer server.Close()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	dir := t.TempDir()
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	plugin := &options{flags: genericclioptions.NewConfigFlags(true), streams: streams}
	plugin.flags.KubeConfig, plugin.flags.CacheDir = &file, &dir
	err := plugin.write(t.Context(), objects)
	return s.applied, err
}

// TestApplyWidensNobody checks that --apply writes nothing if a role would gain rules that a binding gives to other subjects, or in
// other namespaces, than the bindings that are written, or if any of the objects is refused.
//
// Attack: a role is written with --apply under the name of one that somebody else holds, so that this subject gets the new rules
// Answer: refused, and nothing is written
// Was: got through
// Attack: a later log of a subject has fewer namespaces, and its role is written with --apply: the subject gets the new rules in the others
// Answer: refused, and nothing is written
// Was: got through
func TestApplyWidensNobody(t *testing.T) {
	users := func(names ...string) (out []rbacv1.Subject) {
		for _, name := range names {
			out = append(out, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name})
		}
		return out
	}
	jane, bob, both := users("jane"), users("bob"), users("jane", "bob")
	// role returns a role with its binding. The wider one has a verb more.
	role := func(namespace string, wider bool, subjects []rbacv1.Subject) []runtime.Object {
		verbs := []string{"get", "granular", "granular:replicas"}
		if wider {
			verbs = append(verbs, "granular:podTemplateImage")
		}
		rules := []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs}}
		return (&roles.Grant{Namespace: namespace, Rules: rules}).Objects("x", subjects)
	}
	and := func(objects []runtime.Object, name, namespace, kind string, subjects []rbacv1.Subject) []runtime.Object {
		return append(objects, roles.Binding(name, namespace, kind, "x", subjects))
	}
	// aggregated returns the ClusterRole x with a label, and one for each other label, which gets the rules of those with the label
	// and has the next label. The last one is bound.
	aggregated := func(subjects []rbacv1.Subject, labels ...string) []runtime.Object {
		out := role("", false, nil)
		last := out[0].(*rbacv1.ClusterRole)
		for _, label := range labels {
			last.Labels = map[string]string{label: "true"}
			last = &rbacv1.ClusterRole{TypeMeta: last.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: "all-" + label}}
			selector := metav1.LabelSelector{MatchLabels: map[string]string{label: "true"}}
			last.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{selector}}
			out = append(out, last)
		}
		return append(out, roles.Binding("z", "", "ClusterRole", last.Name, subjects))
	}
	unlabelled := aggregated(jane, "a")
	unlabelled[0].(*rbacv1.ClusterRole).Labels = map[string]string{"b": "true"}
	shop, cluster := role("shop", true, bob), role("", true, bob)
	// in returns a ClusterRole that is bound in some namespaces, as it is learned from logs, or with "" in the whole cluster.
	in := func(wider bool, subjects []rbacv1.Subject, namespaces ...string) []runtime.Object {
		out := role("", wider, nil)
		for _, namespace := range namespaces {
			out = and(out, "x", namespace, "ClusterRole", subjects)
		}
		return out
	}
	for name, tc := range map[string]struct {
		stored, written []runtime.Object
		// hidden are the resources that can't be listed.
		hidden string
		// refused is a part of the error, or empty if all is written.
		refused string
	}{
		"new":                 {nil, shop, "", ""},
		"new, of the cluster": {nil, cluster, "", ""},
		"wider":               {role("shop", false, bob), shop, "", ""},
		"wider, for one more": {role("shop", false, jane), role("shop", true, both), "", ""},
		"wider, for another": {role("shop", false, jane), shop, "", "roles.rbac.authorization.k8s.io/x: its new rules would reach " +
			"subjects or namespaces that --apply does not bind, by RoleBinding shop/x; choose another --name"},
		"wider, for one fewer":                  {role("shop", false, both), shop, "", "by RoleBinding shop/x"},
		"wider, bound twice":                    {and(role("shop", false, bob), "y", "shop", "Role", jane), shop, "", "by RoleBinding shop/y"},
		"wider, bound twice to the same":        {and(role("shop", false, bob), "y", "shop", "Role", bob), shop, "", ""},
		"not wider, bound twice":                {and(role("shop", true, bob), "y", "shop", "Role", jane), shop, "", ""},
		"the ClusterRole of the name is bound":  {and(role("shop", false, bob), "y", "shop", "ClusterRole", jane), shop, "", ""},
		"bound in another namespace":            {and(role("shop", false, bob), "y", "other", "Role", jane), shop, "", ""},
		"a binding that is older than the role": {and(nil, "y", "shop", "Role", jane), shop, "", "by RoleBinding shop/y"},
		"bound to one who is named elsewhere only": {and(nil, "y", "shop", "Role", jane), append(role("other", true, jane), shop...), "",
			"by RoleBinding shop/y"},
		"a ClusterRole, bound in a namespace": {and(role("", false, bob), "y", "shop", "ClusterRole", jane), cluster, "",
			"by RoleBinding shop/y"},
		"a ClusterRole, bound twice": {and(role("", false, bob), "y", "", "ClusterRole", jane), cluster, "",
			"by ClusterRoleBinding y"},
		"a ClusterRole, in the same namespaces":      {in(false, bob, "a", "b"), in(true, bob, "a", "b"), "", ""},
		"a ClusterRole, in one more namespace":       {in(false, bob, "a"), in(true, bob, "a", "b"), "", ""},
		"a ClusterRole, in one fewer namespace":      {in(false, bob, "a", "b", "c"), in(true, bob, "a", "b"), "", "by RoleBinding c/x"},
		"not wider, in one fewer namespace":          {in(true, bob, "a", "b", "c"), in(true, bob, "a", "b"), "", ""},
		"a ClusterRole, in namespaces only":          {in(false, bob, "a", "b", ""), in(true, bob, "a", "b"), "", "by ClusterRoleBinding x"},
		"a ClusterRole, no more in a namespace only": {in(false, bob, "a"), cluster, "", "by RoleBinding a/x"},
		"aggregated, and bound elsewhere":            {aggregated(bob, "a"), in(true, bob, "a"), "", "by ClusterRoleBinding z"},
		"a ClusterRole, another's in each namespace": {and(in(false, bob, "a"), "y", "b", "ClusterRole", jane),
			and(in(true, bob, "a"), "x", "b", "ClusterRole", both), "", ""},
		"a ClusterRole, another's in the other namespace": {and(in(false, bob, "a"), "y", "a", "ClusterRole", jane),
			and(in(true, bob, "a"), "x", "b", "ClusterRole", both), "", "by RoleBinding a/y"},
		"a ClusterRole, the Role is bound":       {and(role("", false, bob), "y", "shop", "Role", jane), cluster, "", ""},
		"aggregated":                             {aggregated(jane, "a"), cluster, "", "by ClusterRoleBinding z"},
		"aggregated twice":                       {aggregated(jane, "a", "b"), cluster, "", "by ClusterRoleBinding z"},
		"aggregated, and bound to the same":      {aggregated(bob, "a"), cluster, "", ""},
		"not aggregated":                         {unlabelled, cluster, "", ""},
		"a Role, whoever holds others is hidden": {nil, shop, "roles clusterroles clusterrolebindings", ""},
		"a Role, and its holders are hidden": {nil, shop, "rolebindings",
			"roles.rbac.authorization.k8s.io/x: it is not known who would get its rules: read rolebindings"},
		"a ClusterRole, and its holders are hidden": {nil, cluster, "clusterrolebindings",
			"clusterroles.rbac.authorization.k8s.io/x: it is not known who would get its rules: read clusterrolebindings"},
	} {
		t.Run(name, func(t *testing.T) {
			applied, err := writeTo(t, tc.stored, tc.written, tc.hidden)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) || len(applied) > 0 {
					t.Errorf("%v, wanted %q; written: %q", err, tc.refused, applied)
				}
				return
			}
			var want []string
			for _, o := range tc.written {
				want = append(want, strings.TrimPrefix(pathOf(o), rbacRoot+"/"))
			}
			if err != nil || !slices.Equal(applied, want) {
				t.Errorf("%v; written: %q, wanted %q", err, applied, want)
			}
		})
	}
}

// TestApplyAllOrNothing checks that the roles of several namespaces are written only if none of them is refused by the checks.
func TestApplyAllOrNothing(t *testing.T) {
	subject := func(name string) []rbacv1.Subject {
		return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}
	}
	role := func(namespace, verb, subjectName string) []runtime.Object {
		rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{verb}}}
		return (&roles.Grant{Namespace: namespace, Rules: rules}).Objects("x", subject(subjectName))
	}
	for name, tc := range map[string]struct {
		stored  []runtime.Object
		refused string
	}{
		"nothing is stored":            {nil, ""},
		"the last role has more rules": {role("b", "*", "bob")[:1], "roles.rbac.authorization.k8s.io/x: it exists and has other rules"},
		"the last binding is another's": {role("b", "get", "jane"),
			"rolebindings.rbac.authorization.k8s.io/x: it exists and has other subjects"},
	} {
		t.Run(name, func(t *testing.T) {
			applied, err := writeTo(t, tc.stored, append(role("a", "get", "bob"), role("b", "get", "bob")...), "")
			if tc.refused == "" && (err != nil || len(applied) != 4) {
				t.Errorf("%v, written %q", err, applied)
			}
			if tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused) || len(applied) > 0) {
				t.Errorf("%v, wanted %q; written %q", err, tc.refused, applied)
			}
		})
	}
}

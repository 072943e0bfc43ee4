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

// TestApplyAllOrNothing checks that the roles of several namespaces are written together or not at all.
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

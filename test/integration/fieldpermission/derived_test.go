// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// TestDerivedFieldsOfServices closes the ports of nodes, as an earlier version of the server could have let an
// administrator do: in etcd, because the server refuses it now. The storage of Services opens such a port for the
// type NodePort, after all admission. Every update that has it do so is refused, and nothing else is.
//
// Attack: a caller changes the type of a Service, so that its storage opens a closed port of the nodes
// Answer: 403 for an update, a patch and an apply; the refusal says that the server changes the field
func TestDerivedFieldsOfServices(t *testing.T) {
	endpoint := etcd.Start(t)
	c := harness.Start(t, "--demo=false", "--etcd-servers", endpoint, "--feature-gates", "FieldPermissions=true")
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"create", "get", "update", "patch"}}
	harness.Allow(t, harness.Administrator(t, c), "writer", rule)
	rule.Verbs = append(rule.Verbs, "granular:example.com/nodePort")
	harness.Allow(t, harness.Administrator(t, c), "opener", rule)

	const collection = "/api/v1/namespaces/default/services"
	service := func(name, kind string) json.RawMessage {
		return json.RawMessage(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"` + name +
			`"},"spec":{"type":"` + kind + `","ports":[{"port":80}]}}`)
	}
	send(t, c, "", http.MethodPost, fieldPermissions, "json",
		object("services", v1alpha1.ModeEnforce, "", excluded(".spec.ports[*].appProtocol", "example.com/nodePort")))
	send(t, c, "", http.MethodPost, collection, "json", service("a", "ClusterIP"))
	rewrite(t, client, "/fieldpermissions/services", "appProtocol", "nodePort")

	text := []byte(`{"spec":{"type":"NodePort"}}`)
	harness.Until(t, "the writer is refused", func() bool {
		return send(t, c, "writer", http.MethodPatch, collection+"/a?dryRun=All", "merge", json.RawMessage(text)) == http.StatusForbidden
	})
	for name, tc := range map[string]struct {
		method, path, contentType string
		body                      json.RawMessage
		open                      bool
	}{
		"a patch":              {http.MethodPatch, collection + "/a", "merge", text, false},
		"an update":            {http.MethodPut, collection + "/a", "json", service("a", "NodePort"), false},
		"an apply":             {http.MethodPatch, collection + "/a?fieldManager=w&force=true", "apply", service("a", "NodePort"), false},
		"a create":             {http.MethodPost, collection, "json", service("b", "NodePort"), true},
		"a create by an apply": {http.MethodPatch, collection + "/b?fieldManager=w", "apply", service("b", "NodePort"), true},
		"another update":       {http.MethodPut, collection + "/a", "json", service("a", "ClusterIP"), true},
		"a label":              {http.MethodPatch, collection + "/a", "merge", json.RawMessage(`{"metadata":{"labels":{"a":"b"}}}`), true},
	} {
		t.Run(name, func(t *testing.T) {
			dry := tc.path + "?dryRun=All"
			if strings.Contains(tc.path, "?") {
				dry = tc.path + "&dryRun=All"
			}
			if code := send(t, c, "opener", tc.method, dry, tc.contentType, tc.body); code >= 300 {
				t.Errorf("with the permission: %d", code)
			}
			code, answer, err := harness.Request(c, "writer", tc.method, dry, harness.ContentTypes[tc.contentType], string(tc.body))
			refused := code == http.StatusForbidden &&
				strings.Contains(string(answer), "; the server changes it because of what the request changes")
			if err != nil || tc.open && code >= 300 || !tc.open && !refused {
				t.Errorf("%d %s %v", code, answer, err)
			}
		})
	}
}

// TestFilledFieldsOfCreates closes fields that the server fills in where a client sends nothing. Creates go on, and so do
// updates of other fields.
func TestFilledFieldsOfCreates(t *testing.T) {
	user := caller(server, "create", "update", "patch", "get")
	for source, tc := range map[string]struct {
		paths            []string
		collection, body string
	}{
		"services": {[]string{".spec.clusterIP", ".spec.clusterIPs", ".spec.type", ".spec.ipFamilies", ".spec.ipFamilyPolicy"},
			"/api/v1/namespaces/default/services",
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"filled"},"spec":{"ports":[{"port":80}]}}`},
		"jobs.batch": {[]string{".spec.selector"}, "/apis/batch/v1/namespaces/default/jobs",
			`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"filled"},` +
				`"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"a"}]}}}}`},
	} {
		t.Run(source, func(t *testing.T) {
			var entries []v1alpha1.FieldEntry
			for _, path := range tc.paths {
				entries = append(entries, excluded(path, "example.com/filled"))
			}
			put(t, server, source, v1alpha1.ModeEnforce, "", entries...)
			t.Cleanup(func() { server.Send(t, "", http.MethodDelete, tc.collection+"/filled", "", nil) })
			if a := server.Send(t, user, http.MethodPost, tc.collection, "", json.RawMessage(tc.body)); a.Code >= 300 {
				t.Fatal(a)
			}
			label := json.RawMessage(`{"metadata":{"labels":{"a":"b"}}}`)
			if a := server.Send(t, user, http.MethodPatch, tc.collection+"/filled", harness.ContentTypes["merge"], label); a.Code >= 300 {
				t.Error(a)
			}
		})
	}
}

// rewrite replaces a text in the one object of etcd whose key ends with suffix.
func rewrite(t *testing.T, client *clientv3.Client, suffix, former, text string) {
	t.Helper()
	all, err := client.Get(t.Context(), "/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, stored := range all.Kvs {
		if !strings.HasSuffix(string(stored.Key), suffix) {
			continue
		}
		if !bytes.Contains(stored.Value, []byte(former)) {
			t.Fatalf("%s has no %s", stored.Key, former)
		}
		if _, err := client.Put(t.Context(), string(stored.Key), strings.ReplaceAll(string(stored.Value), former, text)); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("etcd has no key that ends with %s", suffix)
}

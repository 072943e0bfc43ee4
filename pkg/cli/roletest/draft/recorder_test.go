// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package draft

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/check"
	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// noTrees is a server that does not say which permissions fields have.
type noTrees struct{}

func (noTrees) Tree(kubeschema.GroupVersionResource, string) (*schema.Tree, error) {
	return nil, errors.New("not known")
}

// event returns an event of jane about a resource such as deployments.apps/scale. more has further fields.
func event(verb, resource, name, more string) string {
	main, sub, _ := strings.Cut(resource, "/")
	main, group, _ := strings.Cut(main, ".")
	code := 200
	if strings.Contains(more, "code") {
		code = 0
	}
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"id","stage":"ResponseComplete","requestURI":"/x?fieldManager=m","verb":%q,
		"user":{"username":"jane","groups":["ops","system:authenticated"]},
		"objectRef":{"resource":%q,"subresource":%q,"apiGroup":%q,"namespace":"shop","name":%q,"apiVersion":"v1"},
		"responseStatus":{"code":%d},"annotations":{"authorization.k8s.io/decision":"allow"}%s}`, verb, main, sub, group, name, code, more)
}

func read(resource, kind, name, more string) string {
	version := "v1"
	if resource == "deployments.apps" {
		version = "apps/v1"
	}
	return event("get", resource, name, fmt.Sprintf(`,"responseObject":{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"shop","uid":"u",
		"resourceVersion":"7","creationTimestamp":"2026-11-26T00:00:00Z"}%s}`, version, kind, name, more))
}

// metadata returns the event of a read that was answered with metadata alone.
func metadata(event string) string {
	return strings.Replace(event, `"annotations":{`, `"annotations":{"granular.authorization.kube-granular.dev/metadata-only":"true",`, 1)
}

func body(text string) string { return `,"requestObject":` + text }

const roleText = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r}
rules:
- {apiGroups: ["", apps, example.com, rbac.authorization.k8s.io], resources: ["*"], verbs: [get, list, create, update, patch, delete]}
`

// record returns the test that a log gives, and what Write returned.
func record(t *testing.T, events ...string) (*format.Test, string, error) {
	t.Helper()
	roles := check.NewRoles("shop")
	if err := errors.Join(roles.Add("r.yaml", []byte(roleText)), roles.Complete()); err != nil {
		t.Fatal(err)
	}
	r := NewRecorder(roles)
	l := learn.New(noTrees{}, learn.Options{Each: r.Judge})
	for _, e := range events {
		if err := l.Use(t.Context(), []byte(e)); err != nil {
			t.Fatal(err, e)
		}
	}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		return nil, out.String(), err
	}
	file := filepath.Join(t.TempDir(), "a.test.yaml")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	test, err := format.Read(file, false)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return test, out.String(), nil
}

// TestRecorder holds which requests of a log become which cases, and that each other one is counted with its
// reason.
func TestRecorder(t *testing.T) {
	theMap := read("configmaps", "ConfigMap", "a", `,"data":{"a":"b"}`)
	web := read("deployments.apps", "Deployment", "web", `,"spec":{"replicas":2},"status":{"replicas":2}`)
	for name, tc := range map[string]struct {
		events []string
		// cases are the requests of the cases, and says is in the text.
		cases, says string
	}{
		"a read":                    {[]string{theMap}, "get", "name: shop/a"},
		"twice":                     {[]string{theMap, theMap}, "get", "# Requests that are like a case here: 1\n"},
		"a read without an answer":  {[]string{theMap, event("get", "configmaps", "b", "")}, "get", "# 1 × get configmaps: the log does not show the object before\n"},
		"a list":                    {[]string{event("list", "configmaps", "", "")}, "get", "namespace: shop"},
		"metadata of a list":        {[]string{metadata(event("list", "configmaps", "", ""))}, "get", "metadata: true\n    namespace: shop"},
		"metadata of one":           {[]string{theMap, metadata(event("get", "configmaps", "a", ""))}, "get get", "metadata: true\n    name: shop/a"},
		"metadata is no object":     {[]string{metadata(read("configmaps", "PartialObjectMetadata", "a", "")), theMap}, "get", "# 1 × get configmaps: the log does not show the object before"},
		"metadata is refused":       {[]string{metadata(event("watch", "configmaps", "", ""))}, "get", "needs: watch"},
		"a merge patch":             {[]string{theMap, event("patch", "configmaps", "a", body(`{"data":{"a":"c"}}`))}, "get patch", "strategic:"},
		"a JSON patch":              {[]string{theMap, event("patch", "configmaps", "a", body(`[{"op":"test","path":"/data/a","value":"b"},{"op":"add","path":"/data/c","value":"d"}]`))}, "get patch", "json:\n    - op: add"},
		"nothing changes":           {[]string{theMap, event("patch", "configmaps", "a", body(`{"data":{"a":"b"}}`))}, "get", "patch configmaps: it changes nothing in the object that the test has"},
		"a patch of what was not":   {[]string{theMap, event("patch", "configmaps", "b", body(`{"data":{"a":"c"}}`))}, "get", "patch configmaps: the log does not show the object before"},
		"a patch without its body":  {[]string{theMap, event("patch", "configmaps", "a", "")}, "get", "patch configmaps: the log does not show the change"},
		"an apply":                  {[]string{theMap, event("patch", "configmaps", "a", body(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"c"}}`))}, "get apply", "force: true"},
		"an update":                 {[]string{theMap, event("update", "configmaps", "a", body(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop","uid":"u","resourceVersion":"7"},"data":{"c":"d"}}`))}, "get update", "a: null\n        c: d"},
		"a lock":                    {[]string{theMap, event("patch", "configmaps", "a", body(`{"metadata":{"resourceVersion":"7","uid":"u"},"data":{"a":"c"}}`))}, "get patch", "get:"},
		"a scale":                   {[]string{web, event("patch", "deployments.apps/scale", "web", body(`{"spec":{"replicas":3}}`))}, "get scale", "replicas: 3\n    resource: deployments.apps\n"},
		"a scale as it is":          {[]string{web, event("patch", "deployments.apps/scale", "web", body(`{"spec":{"replicas":2}}`))}, "get", "it changes nothing"},
		"a create":                  {[]string{event("create", "configmaps", "", body(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","creationTimestamp":null}}`))}, "create", "namespace: shop"},
		"a create of what is there": {[]string{event("create", "configmaps", "", body(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)), theMap}, "create get", "generateName: a-\n"},
		"an apply that creates it": {[]string{event("patch", "configmaps", "a", body(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)+`,"responseStatus":{"code":201}`), theMap}, "get",
			"apply configmaps: it creates an object that the test has"},
		"an apply that creates":     {[]string{event("patch", "configmaps", "b", body(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)+`,"responseStatus":{"code":201}`), theMap}, "apply get", "manager: m"},
		"a copy of the object":      {[]string{theMap, event("patch", "configmaps", "a", body(`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"uid: resourceVersion:"}}}`))}, "get patch", "last-applied-configuration: '{\"a\":{}}'"},
		"a delete":                  {[]string{theMap, event("delete", "configmaps", "a", "")}, "get delete", ""},
		"a custom resource":         {[]string{theMap, event("get", "things.example.com", "a", "")}, "get", "get things.example.com: its definition is not in the log"},
		"a write of a role":         {[]string{theMap, event("update", "roles.rbac.authorization.k8s.io", "a", body(`{}`))}, "get", "update roles.rbac.authorization.k8s.io: the server asks for more"},
		"an eviction":               {[]string{theMap, event("create", "pods/eviction", "a", body(`{}`))}, "get", "create pods/eviction: a case can't be about this subresource"},
		"an unknown verb":           {[]string{theMap, event("deletecollection", "configmaps", "", "")}, "get", "deletecollection configmaps: a case can't have this verb"},
		"an object that is going":   {[]string{theMap, read("configmaps", "ConfigMap", "b", `,"metadata":{"name":"b","namespace":"shop","creationTimestamp":"2026-11-26T00:00:00Z","deletionTimestamp":"2026-11-26T00:00:00Z"}`)}, "get", "the object was being deleted"},
		"a pod":                     {[]string{read("pods", "Pod", "a", `,"spec":{"serviceAccountName":"robot"}`)}, "get", "kind: ServiceAccount\n  metadata:\n    name: robot"},
		"a service":                 {[]string{read("services", "Service", "a", `,"spec":{"clusterIP":"10.1.2.3","clusterIPs":["10.1.2.3"],"ports":[]}`)}, "get", "spec:\n    ports: []"},
		"a role without a binding":  {[]string{theMap}, "get", "name: test-of-r"},
		"who is not its own master": {[]string{theMap, strings.Replace(theMap, `"ops"`, `"system:masters"`, 1)}, "get", "a member of system:masters may do everything"},
		"by a delegation":           {[]string{theMap, strings.Replace(theMap, `"authorization.k8s.io/decision"`, `"authority-selector":"{}","authorization.k8s.io/decision"`, 1)}, "get", ""},
	} {
		test, text, err := record(t, tc.events...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for i := range test.Cases {
			got = append(got, test.Cases[i].Request())
		}
		if strings.Join(got, " ") != tc.cases || !strings.Contains(text, tc.says) {
			t.Errorf("%s: %v, wanted %s and %q in\n%s", name, got, tc.cases, tc.says, text)
		}
		for _, owned := range []string{"uid:", "resourceVersion:", "creationTimestamp:", "10.1.2.3", "status:"} {
			if strings.Contains(text, owned) {
				t.Errorf("%s: %s is in\n%s", name, owned, text)
			}
		}
	}
	if _, _, err := record(t, event("get", "configmaps", "a", "")); err == nil || !strings.Contains(err.Error(), "1 × get configmaps: the log does not show the object before") {
		t.Errorf("no case: %v", err)
	}
}

// TestRecorderIsBounded holds that a log gives a bounded test, and that what is left out is counted.
func TestRecorderIsBounded(t *testing.T) {
	var events []string
	for i := range 2 * maxAlike {
		events = append(events, read("configmaps", "ConfigMap", fmt.Sprintf("c-%d", i), ""))
	}
	test, text, err := record(t, events...)
	if err != nil || len(test.Cases) != maxAlike || !strings.Contains(text, fmt.Sprintf("%d × get configmaps: like %d cases of other objects", maxAlike, maxAlike)) {
		t.Errorf("%v\n%s", err, text)
	}
	events = []string{read("configmaps", "ConfigMap", "a", `,"data":{"x":"y"}`)}
	for i := range 2 * maxCases {
		events = append(events, strings.Replace(event("list", "configmaps", "", ""), "shop", fmt.Sprintf("shop-%d", i), 1))
	}
	if test, text, err = record(t, events...); err != nil || len(test.Cases) != maxCases || !strings.Contains(text, fmt.Sprintf("%d × list configmaps: the test is full", maxCases+1)) {
		t.Errorf("%v %.3000s", err, text)
	}
	large := strings.Repeat("x", maxBody)
	_, _, err = record(t, read("configmaps", "ConfigMap", "a", `,"data":{"x":"`+large+`"}`))
	if err == nil || !strings.Contains(err.Error(), "the object is large") || strings.Contains(err.Error(), "xxx") {
		t.Errorf("a large object: %.300v", err)
	}
}

// TestRecorderHidesSecrets holds that no value of a Secret is in the test: not of the stored object, not of
// the requests, and not of copies in annotations. The keys are there, and the requests still change them.
func TestRecorderHidesSecrets(t *testing.T) {
	const secret = `"data":{"key":"aGlkZGVu"},"metadata":{"name":"a","namespace":"shop","creationTimestamp":"2026-11-26T00:00:00Z","annotations":{"copy":"hidden","kubectl.kubernetes.io/last-applied-configuration":"hidden"}}`
	stored := event("get", "secrets", "a", `,"responseObject":{"apiVersion":"v1","kind":"Secret",`+secret+`}`)
	for name, tc := range map[string]struct {
		verb, body string
		want       string
	}{
		"a create":       {"create", `{"apiVersion":"v1","kind":"Secret","stringData":{"key":"hidden"},"metadata":{"name":"b","annotations":{"copy":"hidden"}},"data":{"k":"aGlkZGVu"}}`, "k: eyJhIjp7fX0="},
		"a merge patch":  {"patch", `{"data":{"key":"aGlkZGVuMg==","gone":null},"stringData":{"key":"hidden"},"metadata":{"annotations":{"copy":"hidden"}}}`, "key: eyJhIjp7fX0="},
		"an apply":       {"patch", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","annotations":{"copy":"hidden"}},"data":{"other":"aGlkZGVu"}}`, "other: eyJhIjp7fX0="},
		"an update":      {"update", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","annotations":{"copy":"hidden, too"}},"data":{"key":"aGlkZGVuaGlkZGVu"}}`, "key: eyJhIjp7fX0="},
		"a value":        {"patch", `[{"op":"replace","path":"/data/key","value":"aGlkZGVuMg=="}]`, "path: /data/key\n      value: eyJhIjp7fX0="},
		"all values":     {"patch", `[{"op":"replace","path":"/data","value":{"new":"aGlkZGVuMg=="}}]`, "new: eyJhIjp7fX0="},
		"an annotation":  {"patch", `[{"op":"add","path":"/metadata/annotations/x","value":"hidden"}]`, "path: /metadata/annotations/x"},
		"annotations":    {"patch", `[{"op":"add","path":"/metadata/annotations","value":{"x":"hidden"}}]`, "x: '{\"a\":{}}'"},
		"all metadata":   {"patch", `[{"op":"add","path":"/metadata","value":{"name":"a","annotations":{"x":"hidden"}}}]`, "x: '{\"a\":{}}'"},
		"a label":        {"patch", `[{"op":"add","path":"/metadata/labels","value":{"x":"shown"}}]`, "x: shown"},
		"the whole":      {"patch", `[{"op":"replace","path":"","value":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"new":"aGlkZGVuMg=="}}}]`, "new: eyJhIjp7fX0="},
		"a test of data": {"patch", `[{"op":"test","path":"/data/key","value":"aGlkZGVu"},{"op":"remove","path":"/data/key"}]`, "op: remove"},
	} {
		test, text, err := record(t, stored, event(tc.verb, "secrets", "a", body(tc.body)))
		if err != nil || len(test.Cases) != 2 || !strings.Contains(text, tc.want) {
			t.Errorf("%s: %v, %q is not in\n%s", name, err, tc.want, text)
		}
		if strings.Contains(text, "hidden") || strings.Contains(text, "aGlkZGVu") {
			t.Errorf("%s: a value is in\n%s", name, text)
		}
	}
}

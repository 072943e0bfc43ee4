// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kube-granular.dev/api/printing"
)

// payloads end text of a cluster or a log, and would be more than text if they were printed as they
// are: a document, a row, a comment's end, a cleared screen, a title, another order of characters.
var payloads = []string{
	"\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: root}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n",
	"\r\nuser:root   yes   *\t*\n", "\x1b[2J\x1b]0;title\x07\u009b31m", "\u202ey\u2066x\u200f\u2028\u0085", "   yes   granular",
	"\": {\"kind\": \"x\"}, \"", "\x7f\x00\x08#",
}

// hostileCluster serves what the commands read. text makes each text that other people choose.
type hostileCluster struct{ text func(string) string }

const hostileSchema = `{"openapi": "3.0.0", "components": {"schemas": {"meta.ObjectMeta": {"type": "object", "properties": {
	"labels": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-permission-verb": "labels"}}}, "Thing": {"type": "object",
	"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}], "properties": {
	"apiVersion": {"type": "string"}, "kind": {"type": "string"},
	"metadata": {"type": "object", "x-kubernetes-permission-verb": "metadata", "properties": {"name": {"type": "string"},
		"labels": {"type": "object", "x-kubernetes-permission-verb": "labels", "x-kubernetes-permission-parameter-source": "label-key",
			"additionalProperties": {"type": "string", "x-kubernetes-permission-verb": "label", "x-kubernetes-permission-parameterized-by": "label-key"}}}},
	"spec": {"type": "object", "x-kubernetes-permission-verb": "specification", "properties": {
		"replicas": {"type": "integer", "x-kubernetes-permission-verb": "replicas", "description": %s},
		%s: {"type": "string", "description": %s}}}}}}}}`

func (c hostileCluster) rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"example.com"}, Resources: []string{"things"}, Verbs: []string{"update", "patch", "granular", c.text("granular:label(k"), "granular:replicas"}},
		{APIGroups: []string{c.text("group")}, Resources: []string{c.text("resource")}, ResourceNames: []string{c.text("name")}, Verbs: []string{"get", "update", c.text("verb")}},
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}
}

func (c hostileCluster) object() map[string]any {
	return map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a", "namespace": "default",
		"labels": map[string]any{c.text("key"): "v"}}, "spec": map[string]any{"replicas": 1}}
}

func (c hostileCluster) answer(req *http.Request) any {
	resources := func(version string, all ...metav1.APIResource) any {
		return metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version, APIResources: all}
	}
	list := func(kind, version string, items ...any) any {
		return map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{}, "items": items}
	}
	const rbac = "rbac.authorization.k8s.io/v1"
	meta := map[string]any{"name": c.text("role"), "namespace": "default"}
	ref := map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": c.text("role")}
	subjects := []any{
		map[string]any{"kind": "User", "name": c.text("user")}, map[string]any{"kind": "Group", "name": c.text("group")},
		map[string]any{"kind": "ServiceAccount", "namespace": c.text("ns"), "name": c.text("account")},
	}
	switch path := req.URL.Path; {
	case path == "/api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "/api/v1":
		return resources("v1", metav1.APIResource{Name: "bindings", SingularName: "binding", Namespaced: true, Kind: "Binding", Verbs: metav1.Verbs{"create"}})
	case path == "/apis":
		version := metav1.GroupVersionForDiscovery{GroupVersion: "example.com/v1", Version: "v1"}
		return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
			{Name: "example.com", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}}}
	case path == "/apis/example.com/v1":
		verbs := metav1.Verbs{"get", "list", "create", "update", "patch"}
		return resources("example.com/v1", metav1.APIResource{Name: "things", SingularName: "thing", Namespaced: true, Kind: "Thing", Verbs: verbs})
	case path == "/openapi/v3":
		return map[string]any{"paths": map[string]any{"apis/example.com/v1": map[string]any{"serverRelativeURL": "/openapi/v3/apis/example.com/v1?hash=A"}}}
	case path == "/openapi/v3/apis/example.com/v1":
		// A description has paragraphs, which are indented, so its line breaks stay.
		words := strings.NewReplacer("\n", " ", "\r", " ").Replace
		quoted := func(text string) string {
			data, _ := json.Marshal(text)
			return string(data)
		}
		return json.RawMessage(fmt.Sprintf(hostileSchema, quoted(words(c.text("words"))), quoted(c.text("field")), quoted(words(c.text("more")))))
	case strings.HasSuffix(path, "/clusterroles"):
		return list("ClusterRoleList", rbac, map[string]any{"metadata": meta, "rules": c.rules()})
	case strings.HasSuffix(path, "/clusterrolebindings"):
		return list("ClusterRoleBindingList", rbac, map[string]any{"metadata": meta, "roleRef": ref, "subjects": subjects})
	case strings.HasSuffix(path, "/roles"):
		return list("RoleList", rbac)
	case strings.HasSuffix(path, "/rolebindings"):
		return list("RoleBindingList", rbac, map[string]any{"metadata": meta, "roleRef": ref, "subjects": subjects})
	case strings.HasSuffix(path, "/clusterprotectedattributes"):
		return list("ClusterProtectedAttributeList", "authority.kube-granular.dev/v1alpha1", map[string]any{"metadata": meta,
			"spec": map[string]any{"attributeKind": "Label", "attributeName": c.text("guarded"), "roleRef": map[string]any{"kind": "ClusterRole", "name": c.text("role")}}})
	case strings.HasSuffix(path, "/protectedattributes"):
		return list("ProtectedAttributeList", "authority.kube-granular.dev/v1alpha1", map[string]any{"metadata": meta,
			"spec": map[string]any{"attributeKind": "Label", "attributeName": c.text("guarded")}})
	case strings.HasSuffix(path, "/authoritydelegations"):
		return list("AuthorityDelegationList", "authority.kube-granular.dev/v1alpha1", map[string]any{"metadata": meta,
			"spec": map[string]any{"delegates": subjects}, "status": map[string]any{"delegator": map[string]any{"username": c.text("boss")}, "rules": c.rules()}})
	case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
		return map[string]any{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
			"status": map[string]any{"allowed": strings.Contains(path, "x") || req.Header.Get("Impersonate-User") == "", "reason": c.text("RBAC: reason")}}
	case strings.HasSuffix(path, "/selfsubjectrulesreviews"):
		return map[string]any{"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1",
			"status": map[string]any{"incomplete": true, "evaluationError": c.text("failed"), "resourceRules": c.rules(), "nonResourceRules": []any{}}}
	case strings.HasSuffix(path, "/customresourcedefinitions/things.example.com"):
		return map[string]any{"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "metadata": map[string]any{"name": "things.example.com"},
			"spec": map[string]any{"group": "example.com", "names": map[string]any{"plural": "things", "kind": "Thing"}, "versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}}}}
	case path == "/apis/example.com/v1/things":
		entry := map[string]any{"manager": "m", "operation": "Update", "apiVersion": "example.com/v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:spec": map[string]any{"f:" + c.text("field"): map[string]any{}}}}
		return map[string]any{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{}, "items": []any{
			map[string]any{"metadata": map[string]any{"name": c.text("name"), "namespace": c.text("ns"), "managedFields": []any{entry}}}}}
	case strings.HasSuffix(path, "/things/a"):
		object := c.object()
		if req.Method == http.MethodPatch {
			object["spec"] = map[string]any{"replicas": 2}
		}
		return object
	case strings.HasSuffix(path, "/things/refused"):
		return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: 422, Reason: metav1.StatusReasonInvalid, Message: c.text("invalid")}
	}
	return nil
}

func (c hostileCluster) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	object := c.answer(req)
	w.Header().Set("Content-Type", "application/json")
	switch status, ok := object.(metav1.Status); {
	case object == nil:
		w.WriteHeader(http.StatusNotFound)
		object = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: 404, Reason: metav1.StatusReasonNotFound, Message: c.text("not found")}
	case ok:
		w.WriteHeader(int(status.Code))
	}
	_ = json.NewEncoder(w).Encode(object)
}

// log returns an audit log whose events have a hostile text in each field.
func (c hostileCluster) log() string {
	var out strings.Builder
	for i, resource := range []string{"things", c.text("resource")} {
		for j, verb := range []string{"get", "patch", "update", "create", c.text("verb")} {
			id := c.text(fmt.Sprintf("id-%d-%d", i, j))
			if i == 1 && verb == "get" {
				id = "wanted" // an ID that is asked for
			}
			event := map[string]any{
				"kind": "Event", "apiVersion": "audit.k8s.io/v1", "auditID": id, "stage": "ResponseComplete",
				"requestURI": c.text("/x?fieldManager=m"), "verb": verb, "userAgent": c.text("agent"), "sourceIPs": []string{c.text("ip")},
				"user":             map[string]any{"username": c.text("user"), "groups": []string{c.text("group")}},
				"impersonatedUser": map[string]any{"username": c.text("other"), "uid": c.text("uid"), "groups": []string{c.text("crowd"), "team"}, "extra": map[string]any{c.text("extra"): []string{c.text("value")}}},
				"objectRef":        map[string]any{"resource": resource, "namespace": c.text("ns"), "name": c.text("name"), "apiGroup": "example.com", "apiVersion": "v1", "subresource": map[bool]string{true: c.text("part")}[i == 1]},
				"responseStatus":   map[string]any{"code": 200, "message": c.text("message"), "reason": c.text("reason")}, "requestReceivedTimestamp": "2026-11-23T08:00:00Z",
				"annotations": map[string]any{"granular.authorization.kube-granular.dev/marked": "true", "granular.authorization.kube-granular.dev/permissions": c.text("granular:label(k)"), "authorization.k8s.io/reason": c.text("reason")},
			}
			if verb == "patch" {
				event["requestObject"], event["responseObject"] = map[string]any{"metadata": map[string]any{"labels": map[string]any{c.text("key"): "w"}}, "spec": map[string]any{"replicas": 2}}, c.object()
			}
			if i == 1 && verb == "get" {
				event["responseStatus"] = map[string]any{"code": 403, "message": c.text("message")}
				event["annotations"] = map[string]any{"authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": c.text("reason")}
			}
			if i == 1 && verb == "create" {
				event["requestURI"] = c.text("/path")
				delete(event, "objectRef") // a request without a resource
			}
			data, err := json.Marshal(event)
			if err != nil {
				panic(err)
			}
			out.Write(append(data, '\n'))
		}
	}
	return out.String()
}

// run runs a command against the cluster, and returns both output streams.
func (c hostileCluster) run(t *testing.T, stdin string, args ...string) (out, errs string, err error) {
	t.Helper()
	server := httptest.NewServer(c)
	defer server.Close()
	dir := t.TempDir()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", Namespace: "default"}
	config.CurrentContext = "c"
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"audit.log": c.log(), "lint.yaml": c.role(t)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "DIR", dir)
	}
	var stdout, stderr bytes.Buffer
	cmd := New(genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &stdout, ErrOut: &stderr})
	cmd.SetArgs(append([]string{"--kubeconfig", kubeconfig, "--cache-dir", dir}, args...))
	err = cmd.ExecuteContext(t.Context())
	clean := strings.NewReplacer(dir, "DIR", server.URL, "URL")
	return clean.Replace(stdout.String()), clean.Replace(stderr.String()), err
}

// role returns a role for lint, as JSON, which is YAML.
func (c hostileCluster) role(t *testing.T) string {
	t.Helper()
	data, err := printing.MarshalJSON(map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": c.text("role")},
		"rules": []rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"things"}, Verbs: []string{c.text("granular:unknown(")}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestHostileText runs every command in every output format against a cluster and a log with
// hostile names, keys, verbs, reasons, user agents and paths. The output has as many lines as with
// harmless text, by printable characters only, and the same documents.
//
// Attack: a user name in an audit log, or a name, key or verb in a cluster, has line breaks with a
// document, terminal escapes or bidirectional marks, and somebody runs a tool on it
// Answer: escaped: no row, document or comment is added
// Was: got through
func TestHostileText(t *testing.T) {
	denial := func(c hostileCluster) string {
		return fmt.Sprintf(`things.example.com %q is forbidden: User %q cannot change .metadata.labels[%q] in namespace "default": needs one of the verbs "granular:label(k)", "granular:labels"`,
			c.text("name"), c.text("user"), c.text("key"))
	}
	none := func(hostileCluster) string { return "" }
	commands := []struct {
		name    string
		args    []string
		stdin   func(hostileCluster) string
		formats string
	}{
		{"explain", []string{"explain", "things"}, none, "table wide json yaml"},
		{"explain a field", []string{"explain", "things", "spec.replicas"}, none, "table wide json yaml"},
		{"verbs", []string{"verbs"}, none, "table wide json yaml"},
		{"can-i", []string{"can-i", "things/a", "-p", `{"spec":{"replicas":2}}`}, none, "table wide json yaml"},
		{"can-i refused", []string{"can-i", "things/refused", "-p", `{"spec":{"replicas":2}}`}, none, "table json"},
		{"can-i --list", []string{"can-i", "things/a", "--list"}, none, "table wide json yaml"},
		{"can-i --list --all", []string{"can-i", "things/a", "--list", "--all"}, none, "table wide"},
		{"who-can", []string{"who-can", "granular:replicas", "things"}, none, "table wide json yaml"},
		{"who-can for a name", []string{"who-can", "granular:replicas", "things/a"}, none, "table wide json yaml"},
		{"role", []string{"role", "things/a", "-p", `{"spec":{"replicas":2}}`, "--subject", "user:jane"}, none, "table wide json yaml"},
		{"role --from-audit", []string{"role", "--from-audit", "DIR/audit.log"}, none, "table wide json yaml"},
		{"role --from-audit --forbidden", []string{"role", "--from-audit", "DIR/audit.log", "--forbidden", "--subject", "group:team"}, none, "table wide json yaml"},
		{"check", []string{"check", "-f", "DIR/lint.yaml", "--audit-log", "DIR/audit.log"}, none, "table wide json yaml"},
		{"report", []string{"report", "DIR/audit.log", "--all"}, none, "table wide json yaml"},
		{"matrix", []string{"matrix"}, none, "table wide json yaml csv"},
		{"matrix of a resource", []string{"matrix", "--resource", "things"}, none, "table wide json yaml csv"},
		{"explain-denial", []string{"explain-denial"}, denial, "table json yaml"},
		{"explain-denial from a log", []string{"explain-denial", "DIR/audit.log", "--audit-id", "wanted"}, none, "table json yaml"},
		{"lint", []string{"lint", "DIR/lint.yaml"}, none, "table json yaml"},
		{"ui", []string{"ui", "--audit-log", "DIR/audit.log"}, none, "html json"},
		{"ui of files", []string{"ui", "-f", "DIR/lint.yaml"}, none, "html json"},
		{"stored", []string{"stored", "things.example.com"}, none, "table json yaml"},
	}
	for i, payload := range payloads {
		harmless := hostileCluster{func(s string) string { return s + "payload" }}
		hostile := hostileCluster{func(s string) string { return s + "payload" + payload }}
		for _, tc := range commands {
			for _, format := range strings.Fields(tc.formats) {
				t.Run(fmt.Sprintf("%s -o %s %d", tc.name, format, i), func(t *testing.T) {
					run := func(c hostileCluster) (string, string, error) {
						out, errs, err := c.run(t, tc.stdin(c), append(slices.Clone(tc.args), "-o", format)...)
						if err != nil && !errors.Is(err, ErrNo) {
							var line bytes.Buffer
							_ = printing.Error(&line, err)
							errs += line.String()
						}
						return out, errs, err
					}
					want, wantErrs, wantErr := run(harmless)
					got, gotErrs, gotErr := run(hostile)
					if (want == "") != strings.Contains(tc.name, "refused") || (wantErr == nil) != (gotErr == nil) {
						t.Fatalf("%v, with harmless text %v\n%s", gotErr, wantErr, gotErrs)
					}
					if format == "html" {
						checkPrintable(t, strings.Map(func(r rune) rune {
							if strings.ContainsRune(want, r) {
								return -1 // it is part of the page
							}
							return r
						}, got))
					} else {
						checkPrintable(t, got)
					}
					checkPrintable(t, gotErrs)
					// The YAML at the end of explain-denial quotes hostile text, and explain folds descriptions.
					got, yamlPart, _ := strings.Cut(got, "\nAs YAML:\n")
					want, wantYAML, _ := strings.Cut(want, "\nAs YAML:\n")
					checkDocuments(t, "yaml", yamlPart, wantYAML, payload)
					// Only long texts are shortened, and only then the last line says so.
					got, want = strings.TrimSuffix(got, shortenedLine), strings.TrimSuffix(want, shortenedLine)
					got, _, _ = strings.Cut(got, "\nDESCRIPTION:\n    ")
					want, _, _ = strings.Cut(want, "\nDESCRIPTION:\n    ")
					if strings.Count(gotErrs, "\n") != strings.Count(wantErrs, "\n") || format != "yaml" && format != "json" && strings.Count(got, "\n") != strings.Count(want, "\n") {
						t.Errorf("the output has other lines:\n%s%s\nwanted those of\n%s%s", got, gotErrs, want, wantErrs)
					}
					checkDocuments(t, format, got, want, payload)
				})
			}
		}
	}
}

func checkPrintable(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && !strconv.IsPrint(r) {
			t.Errorf("%q is printed in\n%q", r, text)
			return
		}
	}
}

// checkDocuments holds that text has the same documents as want, except for the payload.
func checkDocuments(t *testing.T, format, text, want, payload string) {
	t.Helper()
	switch format {
	case "json", "yaml":
		got, wanted := documentsIn(t, text), documentsIn(t, want)
		// Lists are in the order of their texts, so only what the documents are made of is compared.
		if strings.ReplaceAll(shape(got), payload, "") != shape(wanted) {
			t.Errorf("documents\n%s\nwanted\n%s", text, want)
		}
	case "csv":
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		wanted, _ := csv.NewReader(strings.NewReader(want)).ReadAll()
		if err != nil || len(rows) != len(wanted) || len(rows[0]) != len(wanted[0]) {
			t.Errorf("CSV %v\n%s", err, text)
		}
	}
}

func documentsIn(t *testing.T, text string) []any {
	t.Helper()
	var out []any
	for documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var document any
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		out = append(out, document)
	}
}

// shape describes of what kinds of values documents consist, with the kinds of objects.
func shape(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var keys []string
		for key, e := range v {
			if key == "kind" {
				keys = append(keys, fmt.Sprintf("kind %v", e))
			} else if strings.Contains(key, "payload") {
				keys = append(keys, "payload "+shape(e))
			} else {
				keys = append(keys, key+" "+shape(e))
			}
		}
		return "{" + strings.Join(slices.Sorted(slices.Values(keys)), ",") + "}"
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, shape(e))
		}
		// An annotation with spaces is several verbs, so the number of strings in a list does not count.
		all = slices.Sorted(slices.Values(all))
		if !slices.ContainsFunc(all, func(s string) bool { return s != "string" }) {
			all = slices.Compact(all)
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	return fmt.Sprintf("%T", value)
}

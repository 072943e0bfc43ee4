// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// hiddenKeys are sets of keys that a caller without get tries to learn. They differ in the
// number, order, length and domain of the keys.
var hiddenKeys = [][]string{
	{"a.hidden.example/x"},
	{"z.hidden.example/x", "zz.hidden.example/y"},
	{"a.hidden.example/x", "a.hidden.example/y", "m.hidden.example/z", strings.Repeat("k", 40) + ".hidden.example/x"},
	func() (many []string) {
		for i := range 70 {
			many = append(many, fmt.Sprintf("d%d.hidden.example/x", i))
		}
		return many
	}(),
}

// keysTests are requests that remove keys which the caller does not name, or that also name a
// key of the caller's own. Placeholders such as "LABELS":0 stand for the rest of the object,
// which a PUT must send.
var keysTests = map[string]struct {
	kind, way, body string
	// says is the end of the refusal that a caller without get receives.
	says string
	// own is true if the refusal is about the caller's own key.
	own bool
}{
	"annotations, strategic, retain none": {"secret", "strategic",
		`{"metadata":{"annotations":{"$retainKeys":[]}}}`, annotationsAre, false},
	"annotations, strategic, retain a guess": {"secret", "strategic",
		`{"metadata":{"annotations":{"$retainKeys":["guess"]}}}`, annotationsAre, false},
	"annotations, strategic, replace": {"secret", "strategic",
		`{"metadata":{"annotations":{"$patch":"replace"}}}`, annotationsAre, false},
	"annotations, strategic, delete": {"secret", "strategic",
		`{"metadata":{"annotations":{"$patch":"delete"}}}`, annotationsAre, false},
	"annotations, strategic, null": {"secret", "strategic", `{"metadata":{"annotations":null}}`,
		annotationsAre, false},
	"annotations, merge, null": {"secret", "merge", `{"metadata":{"annotations":null}}`,
		annotationsAre, false},
	"annotations, JSON patch, remove": {"secret", "jsonpatch",
		`[{"op":"remove","path":"/metadata/annotations"}]`, annotationsAre, false},
	"annotations, JSON patch, replace": {"secret", "jsonpatch",
		`[{"op":"replace","path":"/metadata/annotations","value":{}}]`, annotationsAre, false},
	"annotations, JSON patch, add": {"secret", "jsonpatch",
		`[{"op":"add","path":"/metadata/annotations","value":{}}]`, annotationsAre, false},
	"annotations, apply as their owner": {"secret", "apply",
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","LABELS":0,"FINALIZERS":0},"data":{"a":"eA=="}}`,
		annotationsAre, false},
	"annotations, put": {"secret", "put",
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","LABELS":0,"FINALIZERS":0},"type":"Opaque","data":{"a":"eA=="}}`,
		annotationsAre, false},
	"annotations, put as YAML": {"secret", "put",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s, \"LABELS\":0, \"FINALIZERS\":0}\ntype: Opaque\ndata: {a: eA==}\n",
		annotationsAre, false},
	"labels, strategic, retain none": {"secret", "strategic",
		`{"metadata":{"labels":{"$retainKeys":[]}}}`, labelsAre, false},
	"labels, merge, null": {"secret", "merge", `{"metadata":{"labels":null}}`, labelsAre, false},
	"labels, put": {"secret", "put",
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","ANNOTATIONS":0,"FINALIZERS":0},"type":"Opaque","data":{"a":"eA=="}}`,
		labelsAre, false},
	"labels, apply as their owner": {"secret", "apply",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s, \"ANNOTATIONS\":0, \"FINALIZERS\":0}\ndata: {a: eA==}\n",
		labelsAre, false},
	"labels and annotations": {"secret", "strategic",
		`{"metadata":{"labels":{"$patch":"replace"},"annotations":{"$patch":"replace"}}}`, annotationsAre, false},
	"finalizers, merge, a list of one's own": {"secret", "merge", `{"metadata":{"finalizers":[]}}`, finalizersAre,
		false},
	"finalizers, strategic, replace": {"secret", "strategic", `{"metadata":{"finalizers":null}}`,
		finalizersAre, false},
	"finalizers, JSON patch, one by position": {"secret", "jsonpatch",
		`[{"op":"remove","path":"/metadata/finalizers/0"}]`, finalizersAre, false},
	"finalizers, JSON patch, all": {"secret", "jsonpatch",
		`[{"op":"replace","path":"/metadata/finalizers","value":[]}]`, finalizersAre, false},
	"finalizers, put": {"secret", "put",
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","ANNOTATIONS":0,"LABELS":0},"type":"Opaque","data":{"a":"eA=="}}`,
		finalizersAre, false},
	"conditions, merge": {"deployment", "merge", `{"status":{"conditions":[]}}`,
		conditionsAre, false},
	"conditions, merge, null": {"deployment", "merge", `{"status":{"conditions":null}}`,
		conditionsAre, false},
	"conditions, strategic, replace": {"deployment", "strategic",
		`{"status":{"conditions":[{"$patch":"replace"}]}}`, conditionsAre, false},
	"conditions, JSON patch, one by position": {"deployment", "jsonpatch",
		`[{"op":"remove","path":"/status/conditions/0"}]`, conditionsAre, false},
	"conditions, JSON patch, a field of one": {"deployment", "jsonpatch",
		`[{"op":"replace","path":"/status/conditions/0/reason","value":"guess"}]`, conditionsAre, false},
	"one's own label beside all others": {"secret", "strategic",
		`{"metadata":{"labels":{"$retainKeys":["guess.example/x"],"guess.example/x":"1"}}}`, ownLabel, true},
	"one's own label, put": {"secret", "put",
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","labels":{"guess.example/x":"1"},"ANNOTATIONS":0,"FINALIZERS":0},"type":"Opaque","data":{"a":"eA=="}}`,
		ownLabel, true},
	"one's own label behind all annotations": {"secret", "merge",
		`{"metadata":{"annotations":null,"labels":{"guess.example/x":"1"}}}`, ownLabel, true},
	"one's own finalizer in place of the rest": {"secret", "merge",
		`{"metadata":{"finalizers":["guess.example/x"]}}`,
		`cannot change .metadata.finalizers["guess.example/x"] in namespace "NS": needs one of the verbs "granular:finalizer(guess.example)", "granular:metadata"`,
		true},
}

const (
	annotationsAre = `cannot change .metadata.annotations in namespace "NS": needs one of the verbs "granular:annotations", "granular:metadata"`
	labelsAre      = `cannot change .metadata.labels in namespace "NS": needs one of the verbs "granular:labels", "granular:metadata"`
	finalizersAre  = `cannot change .metadata.finalizers in namespace "NS": needs one of the verbs "granular:finalizers", "granular:metadata"`
	conditionsAre  = `cannot change .status.conditions in namespace "NS" through "deployments/status": needs one of the verbs "granular:conditions", "granular:status"`
	ownLabel       = `cannot change .metadata.labels[guess.example/x] in namespace "NS": needs one of the verbs "granular:label(guess.example)", "granular:metadata"`
)

// hiddenObjects creates a namespace with a secret and a deployment that have the hidden keys.
// It returns the texts for the placeholders.
func hiddenObjects(t *testing.T, s *harness.Server, ns string, keys []string) (rest map[string]string) {
	t.Helper()
	rest = map[string]string{}
	var labels, finalizers, conditions []string
	for i, key := range keys {
		labels = append(labels, fmt.Sprintf(`%q:"v%d"`, key, i))
		finalizers = append(finalizers, fmt.Sprintf("%q", key))
		conditions = append(conditions, fmt.Sprintf(`{"type":%q,"status":"True","reason":"R"}`, key))
	}
	rest[`"LABELS":0`] = `"labels":{` + strings.Join(labels, ",") + "}"
	rest[`"ANNOTATIONS":0`] = `"annotations":{` + strings.Join(labels, ",") + "}"
	rest[`"FINALIZERS":0`] = `"finalizers":[` + strings.Join(finalizers, ",") + "]"
	s.MustSend(t, http.MethodPost, "/api/v1/namespaces", harness.ContentTypes["json"], `{"metadata":{"name":"`+ns+`"}}`)
	s.MustSend(t, http.MethodPatch, "/api/v1/namespaces/"+ns+"/secrets/s?fieldManager=owner", harness.ContentTypes["apply"],
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s",`+rest[`"LABELS":0`]+`,`+rest[`"ANNOTATIONS":0`]+`,`+rest[`"FINALIZERS":0`]+`},"data":{"a":"eA=="}}`)
	s.MustSend(t, http.MethodPost, "/apis/apps/v1/namespaces/"+ns+"/deployments", harness.ContentTypes["json"],
		`{"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	s.MustSend(t, http.MethodPatch, "/apis/apps/v1/namespaces/"+ns+"/deployments/web/status", harness.ContentTypes["merge"], `{"status":{"conditions":[`+strings.Join(conditions, ",")+`]}}`)
	s.LiveObject(t, "/api/v1/namespaces/"+ns+"/secrets/s")
	s.LiveObject(t, "/apis/apps/v1/namespaces/"+ns+"/deployments/web")
	return rest
}

// TestKeysWithoutGet checks what a refusal reveals to a caller that may not get the object. It
// must not depend on keys that the caller does not name: apart from the namespace, the answers
// are equal byte for byte. A caller that may get the object sees the key. A caller with
// permissions for all removed keys is allowed.
//
// Attack: removing all labels, annotations, finalizers or conditions, to learn them one after another from the
// verbs; with two of the caller's own keys, to learn their order
// Answer: the same answer, whatever the keys are
// Was: got through
func TestKeysWithoutGet(t *testing.T) {
	s := onStage(t)
	specific := regexp.MustCompile(`^granular:(label|annotation|finalizer|condition)\([a-z0-9.]*hidden\.example(/x|/y|/z)?\)$`)
	paths := map[string]string{"secret": "/api/v1/namespaces/%s/secrets/s",
		"deployment": "/apis/apps/v1/namespaces/%s/deployments/web/status"}
	told := map[string]string{}
	for i, keys := range hiddenKeys {
		ns := fmt.Sprintf("keys-%d", i)
		rest := hiddenObjects(t, s, ns, keys)
		for name, tc := range keysTests {
			t.Run(fmt.Sprintf("%d/%s", i, name), func(t *testing.T) {
				body := tc.body
				for placeholder, text := range rest {
					body = strings.ReplaceAll(body, placeholder, text)
				}
				send := func(user string) harness.Answer {
					path := fmt.Sprintf(paths[tc.kind], ns) + "?dryRun=All&fieldManager=owner"
					method, contentType := http.MethodPatch, harness.ContentTypes[tc.way]
					if tc.way == "put" {
						method, contentType = http.MethodPut, harness.ContentTypes["yaml"]
					}
					return s.Send(t, user, method, path, contentType, body)
				}
				id := strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(name) + "-" + ns
				s.Callers.AddCaller("blind-"+id, "granular")
				got := send("blind-" + id)
				if text := strings.ReplaceAll(got.Message(), ns, "NS"); got.Code != http.StatusForbidden || !strings.HasSuffix(text, tc.says) {
					t.Errorf("without get: %s\nwanted %s", got, tc.says)
				}
				if strings.Contains(got.String(), "hidden") || len(got.Warnings()) > 0 {
					t.Errorf("without get: %s, warned %q", got, got.Warnings())
				}
				all := strings.ReplaceAll(got.String(), ns, "NS")
				if first, ok := told[name]; ok && first != all {
					t.Errorf("the answer depends on hidden keys:\n%s\nand\n%s", all, first)
				}
				told[name] = all

				// A caller that holds permissions for some of the removed keys learns nothing
				// more, even if only one key is not covered.
				s.Callers.AddCallerFunc("blind-"+id, func(q harness.Question) bool {
					return q.Verb == "granular" || specific.MatchString(q.Verb) && !strings.Contains(q.Verb, "z")
				})
				if some := send("blind-" + id); !tc.own && some.Code == http.StatusForbidden && strings.ReplaceAll(some.String(), ns, "NS") != all {
					t.Errorf("the answer depends on hidden keys:\n%s\nand\n%s", some, all)
				}

				s.Callers.AddCaller("reader-"+id, "granular", "get")
				if got := send("reader-" + id); got.Code != http.StatusForbidden || !tc.own && !strings.Contains(got.String(), "hidden.example") {
					t.Errorf("with get: %s", got)
				}
				s.Callers.AddCaller("holder-"+id, "granular", "granular:metadata", "granular:status")
				if got := send("holder-" + id); got.Code != http.StatusOK || strings.Contains(got.String(), "hidden") {
					t.Errorf("who holds the permissions: %s", got)
				}
			})
		}
	}
}

// TestKeysOfOnesOwn checks that a refusal names a key to a caller without get if the caller's
// own request names the key.
//
// Attack: a list of guesses as nulls, or as an owner's applied fields
// Answer: 403 that names one of them, if it existed; inherent
func TestKeysOfOnesOwn(t *testing.T) {
	s := onStage(t)
	const ns = "keys-own"
	hiddenObjects(t, s, ns, []string{"a.known.example/x", "b.known.example/x"})
	s.Callers.AddCaller("own", "granular")
	for name, tc := range map[string]struct{ path, way, body, says string }{
		"merge, null": {"/api/v1/namespaces/keys-own/secrets/s", "merge",
			`{"metadata":{"labels":{"b.known.example/x":null}}}`,
			`.metadata.labels[b.known.example/x] in namespace "keys-own": needs one of the verbs "granular:label(b.known.example)", "granular:metadata"`},
		"strategic, null": {"/api/v1/namespaces/keys-own/secrets/s", "strategic",
			`{"metadata":{"annotations":{"b.known.example/x":null}}}`, `.metadata.annotations[b.known.example/x]`},
		"JSON patch, remove": {"/api/v1/namespaces/keys-own/secrets/s", "jsonpatch",
			`[{"op":"remove","path":"/metadata/labels/b.known.example~1x"}]`, `.metadata.labels[b.known.example/x]`},
		"escaped": {"/api/v1/namespaces/keys-own/secrets/s", "merge",
			`{"metadata":{"labels":{"b.kno\u0077n.example\/x":null}}}`, `.metadata.labels[b.known.example/x]`},
		"delete from a list": {"/api/v1/namespaces/keys-own/secrets/s", "strategic",
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":["b.known.example/x"]}}`,
			`.metadata.finalizers["b.known.example/x"]`},
		"an element": {"/apis/apps/v1/namespaces/keys-own/deployments/web/status", "strategic",
			`{"status":{"conditions":[{"$patch":"delete","type":"b.known.example/x"}]}}`,
			`.status.conditions[type="b.known.example/x"]`},
		"a container": {"/apis/apps/v1/namespaces/keys-own/deployments/web", "strategic",
			`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"j"}]}}}}`,
			`.spec.template.spec.containers[name="c"].image`},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.Send(t, "own", http.MethodPatch, tc.path+"?dryRun=All", harness.ContentTypes[tc.way], tc.body)
			if got.Code != http.StatusForbidden || !strings.Contains(got.Message(), "cannot change "+tc.says) {
				t.Errorf("%s\nwanted %s", got, tc.says)
			}
		})
	}
}

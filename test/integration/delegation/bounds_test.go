// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const delegatorRole = "system:kube-granular:authority-delegator"

// conditionAuthor lets a user that has only rules in one namespace and the role for delegators create
// delegations, and returns a request that creates one with a condition.
func conditionAuthor(t *testing.T, rules string) (namespace string, create func(name, expression string) request) {
	t.Helper()
	namespace, _ = stage(t, rules)
	grant(t, namespace, "delegator", rules)
	apply(t, rbacPath+"clusterrolebindings", fmt.Sprintf(`{"metadata":{"name":"delegator-%s"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":%q},
		"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"delegator"}]}`, namespace, delegatorRole))
	create = func(name, expression string) request {
		text, err := json.Marshal(expression)
		if err != nil {
			t.Fatal(err)
		}
		d := delegation{scope: namespace, rules: rules, more: `,"conditions":[{"expression":` + string(text) + `}]`}
		return request{as: "delegator", method: "POST", path: delegations, body: d.body(name)}
	}
	create("ready-"+namespace, "true").eventually(t, 201)
	return namespace, create
}

// TestExpressionBombs checks that a condition whose type check would never end is refused at once, and
// that the server answers others meanwhile.
//
// Attack: many conditions at once whose type check never ends, by a user with nothing but the role for delegators
// Answer: 422 each, and other users are answered meanwhile
// Was: 504 after 34 seconds, and the server went on
func TestExpressionBombs(t *testing.T) {
	namespace, create := conditionAuthor(t, configMaps)
	bombs := []string{
		`[1]` + strings.Repeat(`.map(a,{a:a})`, 22) + ` == []`,
		`[1]` + strings.Repeat(`.map(a,[a,a])`, 25) + ` == []`,
		`optional.of(1)` + strings.Repeat(`.optMap(a,a)`, 60) + `.hasValue()`,
		`[1]` + strings.Repeat(`.sortBy(a,a)`, 60) + ` == []`,
		`'a'.matches('((a{10}){10}){10}')`,
	}
	started := time.Now()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			create(fmt.Sprintf("bomb-%s-%d", namespace, i), bombs[i%len(bombs)]).want(t, 422, "spec.conditions[0].expression")
		})
	}
	all.Go(func() {
		for range 10 {
			request{as: "delegator", method: "GET", path: maps(namespace)}.want(t, 200)
		}
	})
	all.Wait()
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("40 refusals took %v", took)
	}
	// The twin: a condition of the same kind within the bounds.
	create("twin-"+namespace, `[1].map(a, {'a': a}) == [{'a': 1}] && 'a'.matches('(a{3}){3}|a') && optional.of(1).optMap(a, a).hasValue()`).want(t, 201)
}

// TestCostlyConditions checks that a condition that would compute for minutes, although it compiles,
// refuses the write at once.
//
// Attack: conditions that compare, join or repeat values that are exponentially large
// Answer: 403, and other users are answered meanwhile
// Was: got through after minutes
func TestCostlyConditions(t *testing.T) {
	namespace, create := conditionAuthor(t, configMaps)
	request{as: "delegator", method: "POST", path: maps(namespace), body: configMap("c", strings.Repeat("ab", 100_000))}.want(t, 201)
	write := request{as: "bot", method: "PATCH", path: maps(namespace) + "/c", contentType: mergePatch, body: `{"metadata":{"annotations":{"a":"b"}}}`}
	for i, expression := range []string{
		`[1]` + strings.Repeat(`.map(a,[a,a,a,a,a,a,a,a,a,a])`, 6) + `.all(a, a == a)`,
		`[object.data.k].map(a,a+a+a+a+a+a+a+a).map(a,a+a+a+a+a+a+a+a).map(a,a+a+a+a+a+a+a+a).map(a,a+a+a+a+a+a+a+a) != []`,
		`object.data.k.replace('', object.data.k) != ''`,
		`quantity('1e999999999').add(quantity('1')).isInteger()`,
		`lists.range(100000).all(i, object.data.k == object.data.k)`,
		`lists.range(100000).all(i, object.data.k != oldObject.metadata.name)`,
		`lists.range(100000).map(i, object.data.k).join(object.data.k) != ''`,
		`lists.range(1000).all(i, '%s'.format([object]) != '')`,
	} {
		name := fmt.Sprintf("costly-%s-%d", namespace, i)
		create(name, expression).want(t, 201)
		started := time.Now()
		write.under = name
		write.want(t, 403, "cost limit")
		if took := time.Since(started); took > 10*time.Second {
			t.Errorf("%s: refused after %v", expression, took)
		}
	}
	name := "cheap-" + namespace
	create(name, `object.data.k == oldObject.data.k && [1].map(a, [a, a]) == [[1, 1]]`).want(t, 201)
	write.under = name
	write.want(t, 200)
}

// TestTemplates checks that a condition on the pod template also holds for a CronJob, and refuses
// writes of objects without one.
func TestTemplates(t *testing.T) {
	const rules = `{"apiGroups":["batch"],"resources":["cronjobs"],"verbs":["create","get","patch"]},{"apiGroups":[""],"resources":["configmaps","pods"],"verbs":["create","get","patch"]}`
	namespace, create := conditionAuthor(t, rules)
	jobs := "/apis/batch/v1/namespaces/" + namespace + "/cronjobs"
	apply(t, jobs, `{"metadata":{"name":"c"},"spec":{"schedule":"@daily","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"one"}]}}}}}}`,
		maps(namespace), configMap("c", "x"))
	name := "templates-" + namespace
	create(name, "podTemplateHash == oldPodTemplateHash").want(t, 201)
	write := func(path, body string) request {
		return request{as: "bot", method: "PATCH", path: path + "/c", under: name, contentType: mergePatch, body: body}
	}
	write(jobs, `{"spec":{"suspend":true}}`).want(t, 200)
	write(jobs, `{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"two"}]}}}}}}`).want(t, 403, "condition")
	write(maps(namespace), `{"data":{"k":"y"}}`).want(t, 403, "no pod template")
}

// TestStrictFields checks that the API group refuses unknown and wrongly-cased fields, whatever a
// client asks for, in each format and with each verb that writes.
//
// Attack: spec.Conditions with a capital C, by a client that asks for no validation, so that the delegation has no conditions
// Answer: 400, or 422 to a patch, that names the field
// Was: got through
func TestStrictFields(t *testing.T) {
	namespace, _ := stage(t, configMaps)
	name := "strict-" + namespace
	d := delegation{scope: namespace, rules: configMaps}
	wrong := delegation{scope: namespace, rules: configMaps, more: `,"Conditions":[{"expression":"false"}]`}
	request{as: "alice", method: "POST", path: delegations, body: d.body(name)}.want(t, 201)
	policyName := "strict-" + namespace
	right := policy{namespace: namespace, rules: configMaps}
	apply(t, policies, right.body(policyName))
	t.Cleanup(func() {
		if _, err := (request{as: "root", method: "DELETE", path: policies + "/" + policyName}).do(context.Background()); err != nil {
			t.Error(err)
		}
	})
	const pattrs = "/apis/authority.kube-granular.dev/v1alpha1/clusterprotectedattributes"
	for _, validation := range []string{"", "?fieldValidation=Ignore", "?fieldValidation=Warn", "?fieldValidation=Strict", "?dryRun=All&fieldValidation=Ignore"} {
		one := delegations + "/" + name
		for _, r := range []request{
			{as: "alice", method: "POST", path: delegations, body: wrong.body("new-" + namespace)},
			{as: "alice", method: "POST", path: delegations, body: wrong.body("new-" + namespace), contentType: "application/yaml"},
			{as: "alice", method: "PUT", path: one, body: wrong.body(name)},
			{as: "alice", method: "PATCH", path: one, contentType: mergePatch, body: `{"spec":{"Conditions":[{"expression":"false"}]}}`},
			{as: "alice", method: "PATCH", path: one, contentType: "application/strategic-merge-patch+json", body: `{"spec":{"Conditions":[{"expression":"false"}]}}`},
			{as: "alice", method: "PATCH", path: one, contentType: "application/json-patch+json", body: `[{"op":"add","path":"/spec/Conditions","value":[{"expression":"false"}]}]`},
			{as: "root", method: "POST", path: policies, body: strings.Replace(right.body("new-"+namespace), `"delegates"`, `"Conditions":[{"expression":"false"}],"delegates"`, 1)},
			{as: "root", method: "PATCH", path: policies + "/" + policyName, contentType: mergePatch, body: `{"spec":{"Conditions":[{"expression":"false"}]}}`},
			{as: "root", method: "POST", path: pattrs, body: `{"metadata":{"name":"new"},"spec":{"Conditions":[],"attributeKind":"Label","attributeName":"strict.example.com/a"}}`},
		} {
			r.path += validation
			status := http.StatusBadRequest
			if r.method == "PATCH" {
				status = http.StatusUnprocessableEntity // upstream's answer to a patch that can't be decoded
			}
			r.want(t, status, "Conditions")
		}
		apply := request{as: "alice", method: "PATCH", path: one + "?fieldManager=x&force=true" + strings.Replace(validation, "?", "&", 1), contentType: "application/apply-patch+yaml", body: wrong.body(name)}
		if got := apply.to(t); got.status < 400 || !strings.Contains(got.body, "Conditions") {
			t.Errorf("apply %s: %s", validation, got)
		}
		request{as: "alice", method: "POST", path: delegations + validation, body: strings.Replace(d.body("new-"+namespace), `"delegates"`, `"delegates":[],"delegates"`, 1)}.
			want(t, http.StatusBadRequest, "delegates")
		// Another group still decodes as the client asks.
		if !strings.Contains(validation, "Strict") {
			request{as: "alice", method: "PATCH", path: maps(namespace) + "/none" + validation, contentType: mergePatch, body: `{"Data":{}}`}.want(t, 404)
		}
	}
	if d := read(t, name); len(d.Spec.Conditions) != 0 {
		t.Error("the stored delegation has conditions")
	}
	// The twin: the field in the right case.
	small := delegation{scope: namespace, rules: configMaps, more: `,"conditions":[{"expression":"false"}]`}.by(t, "alice", "")
	if d := read(t, small); len(d.Spec.Conditions) != 1 {
		t.Error("the condition is not stored")
	}
}

// TestPoliciesOfWhatIsStored checks that a policy can name exactly the resources whose objects are
// stored. It compares with the verbs that the server publishes: what can be created and not read is
// not stored.
func TestPoliciesOfWhatIsStored(t *testing.T) {
	var groups struct {
		Groups []struct {
			PreferredVersion struct{ GroupVersion string }
		}
	}
	decode(t, "/apis", &groups)
	paths := map[string]string{"/api/v1": ""}
	for _, g := range groups.Groups {
		group, _, _ := strings.Cut(g.PreferredVersion.GroupVersion, "/")
		paths["/apis/"+g.PreferredVersion.GroupVersion] = group
	}
	for path, group := range paths {
		var list struct {
			Resources []struct {
				Name       string
				Namespaced bool
				Verbs      []string
			}
		}
		decode(t, path, &list)
		for _, r := range list.Resources {
			if strings.Contains(r.Name, "/") || r.Name == "events" {
				continue
			}
			stored := strings.Contains(strings.Join(r.Verbs, ","), "get") && strings.Contains(strings.Join(r.Verbs, ","), "create")
			want := http.StatusUnprocessableEntity
			if r.Namespaced && stored {
				want = http.StatusCreated
			}
			p := policy{resource: group + "/" + r.Name, namespace: "default", rules: getPods}
			request{as: "root", method: "POST", path: policies + "?dryRun=All", body: p.body("stored")}.want(t, want)
		}
	}
	for _, resource := range []string{"policy/evictions", "authentication.k8s.io/tokenrequests", "autoscaling/scales", "apps/deployment"} {
		request{as: "root", method: "POST", path: policies + "?dryRun=All", body: policy{resource: resource, namespace: "default", rules: getPods}.body("stored")}.
			want(t, 422, "spec.resource")
	}
}

func decode(t *testing.T, path string, out any) {
	t.Helper()
	got := request{as: "root", method: "GET", path: path}.want(t, http.StatusOK)
	if err := json.Unmarshal([]byte(got.body), out); err != nil {
		t.Fatal(err)
	}
}

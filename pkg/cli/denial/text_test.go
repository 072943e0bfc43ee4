// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// refusalText returns the message of a refusal of a field.
func refusalText(user, name string) string {
	return fmt.Sprintf(`deployments.apps %q is forbidden: User %q cannot change .spec.replicas in namespace "shop": needs one of the verbs "granular:replicas", "granular:specification"`, name, user)
}

func quote(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRefusalsInText holds which refusals are found in the output of kubectl and in lines of logs. Each is
// named by the user, the object, and a verb or "admission".
//
// Attack: a user name, or the message of a policy, has the text of a refusal of somebody else, so that an administrator gives that one rights
// Answer: text in quotes, and what follows a reason, is no refusal
func TestRefusalsInText(t *testing.T) {
	one, two := refusalText("jane", "web"), refusalText("system:serviceaccount:shop:robot", "api")
	list := `pods is forbidden: User "eve" cannot list resource "pods" in API group "" at the cluster scope`
	const jane, robot, eve = "jane web granular:replicas", "system:serviceaccount:shop:robot api granular:replicas", "eve  list"
	zap := func(message string) string {
		return quote(t, map[string]any{"level": "error", "ts": 1.5, "msg": "Reconciler error", "error": message, "stacktrace": "main.go:1\n\tx"})
	}
	log := func(text string) string { return quote(t, map[string]string{"log": text + "\n", "stream": "stderr"}) }
	policy := `pods "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: the image `
	for name, tc := range map[string]struct{ text, want string }{
		"kubectl":                   {"Error from server (Forbidden): " + one, jane},
		"two of kubectl":            {"Error from server (Forbidden): " + one + "\nError from server (NotFound): x\nError from server (Forbidden): " + two + "\n", jane + ", " + robot},
		"twice the same":            {one + "\n" + one, jane},
		"an aggregate":              {"[" + one + ", " + list + "]", jane + ", " + eve},
		"a line of JSON":            {zap(one), jane},
		"lines of JSON":             {"started\n" + zap(one) + "\n" + zap("other") + "\n" + zap(two), jane + ", " + robot},
		"JSON in JSON":              {log(zap(one)), jane},
		"JSON in JSON in JSON":      {log(log(zap(one))), jane},
		"structured text":           {`E1126 10:00:00.1 7 controller.go:1] "Reconciler error" err=` + strconv.Quote(one) + ` controller="x"`, jane},
		"unstructured text":         {`E1126 10:00:00.1 7 reflector.go:1] "Failed to watch" err="failed to list *v1.Pod: ` + strings.ReplaceAll(list, `"`, `\"`) + `"`, eve},
		"a console with JSON":       {"2026-11-26T10:00:00Z\tERROR\tReconciler error\t" + quote(t, map[string]string{"error": one}), jane},
		"escaped, without quotes":   {strings.ReplaceAll(one, `"`, `\"`), jane},
		"escaped twice":             {strings.ReplaceAll(one, `"`, `\\\"`), jane},
		"quoted, then plain":        {"error: " + strconv.Quote(one) + ": " + list, jane + ", " + eve},
		"several in a string":       {zap("failed: " + one + "\n" + list), jane + ", " + eve},
		"broken by a terminal":      {strings.ReplaceAll(one, " ", "\n  "), jane},
		"broken, then another":      {strings.Replace(one, "cannot change", "cannot\nchange", 1) + "\n" + list, jane + ", " + eve},
		"admission in JSON":         {zap(`admission webhook "w.example" denied the request: no`), "  admission"},
		"nothing":                   {zap("not found"), ""},
		"a name with a refusal":     {refusalText("x "+list, "web"), "x " + list + " web granular:replicas"},
		"a name with it, in JSON":   {zap(refusalText("x "+list, "web")), "x " + list + " web granular:replicas"},
		"a policy with it":          {policy + list, " web admission"},
		"a policy with it, in JSON": {zap(policy + "\n" + list), " web admission"},
		"a reason with it":          {`pods "a" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "x": because ` + list, "jane a get"},
		"a label with it": {`pods "a" is forbidden: User "jane" cannot change .metadata.labels["` + strings.ReplaceAll(list, `"`, `\"`) + `"] in namespace "x": needs the verb "granular:labels"`,
			"jane a granular:labels"},
		"quoted too often":       {log(log(log(log(zap(one))))), ""},
		"no known form, with it": {`pods "a" is forbidden: User "x ` + strings.ReplaceAll(list, `"`, `\"`) + `" must not`, ""},
		"the same, in JSON":      {zap(`pods "a" is forbidden: User "x ` + strings.ReplaceAll(list, `"`, `\"`) + `" must not`), ""},
	} {
		all, err := Parse(tc.text)
		var got []string
		for _, d := range all {
			what := d.Ordinary
			switch {
			case d.Admission:
				what = "admission"
			case len(d.Verbs) > 0:
				what = d.Verbs[0]
			}
			got = append(got, d.User+" "+d.Name+" "+what)
		}
		if have := strings.Join(got, ", "); have != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s: %s\n%q, %v\nwanted %q", name, tc.text, have, err, tc.want)
		}
	}
}

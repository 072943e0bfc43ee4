// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// selecting returns an event of a request that selects a cluster role, with more annotations.
func selecting(uri, objectRef, annotations string) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"id","stage":"ResponseComplete","requestURI":%q,"verb":"get","user":{"username":"jane"},%s"responseStatus":{"code":200},`+
		`"annotations":{"authority.kube-granular.dev/selected":"{\"authorityReference\":{\"kind\":\"ClusterRole\",\"name\":\"view\"}}"%s}}`, uri, objectRef, annotations) + "\n"
}

const pod = `"objectRef":{"resource":"pods","namespace":"shop","name":"web","apiVersion":"v1"},`

// TestChainReasons holds that each format has the reason of the caller and that of the authorizer, each in
// one cell, and that an event without a time prints none.
func TestChainReasons(t *testing.T) {
	log := selecting("/api/v1/namespaces/shop/pods/web", pod, `,"authority.kube-granular.dev/reason":"TICKET-1 > x","authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"RBAC: allowed by ClusterRole \"view\""`) +
		selecting("/api/v1/namespaces/shop/pods/web", pod, "")
	rows := func(format string) []string {
		text, _, warnings := print(t, strings.NewReader(log), Filter{}, format)
		if len(warnings) > 0 || strings.Contains(text, "0001-") {
			t.Errorf("%s: %v\n%s", format, warnings, text)
		}
		return strings.Split(strings.TrimSpace(regexp.MustCompile(` {2,}`).ReplaceAllString(text, "|")), "\n")
	}
	for format, want := range map[string][]string{
		"table": {"TIME|WHO|ON-BEHALF-OF|SELECTED|VERB|OBJECT|RESULT|REASON",
			`<none>|jane|<none>|ClusterRole/view|get|pods shop web|200|"TICKET-1 > x"`, "<none>|jane|<none>|ClusterRole/view|get|pods shop web|200|<none>"},
		"wide": {"TIME|WHO|ON-BEHALF-OF|SELECTED|VERB|OBJECT|RESULT|REASON|HANDED-ON-BY|DECISION|AUDIT-ID",
			`<none>|jane|<none>|ClusterRole/view|get|pods shop web|200|"TICKET-1 > x"|<none>|"allow: RBAC: allowed by ClusterRole \"view\""|id`,
			"<none>|jane|<none>|ClusterRole/view|get|pods shop web|200|<none>|<none>|<none>|id"},
	} {
		if got := rows(format); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwanted\n%s", format, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	var got struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(strings.Join(rows("json"), "\n")), &got); err != nil {
		t.Fatal(err)
	}
	first, second := got.Items[0], got.Items[1]
	if first["reason"] != "TICKET-1 > x" || first["decision"] != "allow" || first["decisionReason"] != `RBAC: allowed by ClusterRole "view"` {
		t.Errorf("%v", first)
	}
	for _, key := range []string{"reason", "decision", "decisionReason", "time"} {
		if value, found := second[key]; found {
			t.Errorf("%s is %v", key, value)
		}
	}
}

// TestChainWithoutProbes holds that the requests by which clients ask whether a server knows selections are
// left out, and other requests for the version, or under a selection, are not.
func TestChainWithoutProbes(t *testing.T) {
	probe := selecting("/version", "", "")
	for name, tc := range map[string]struct {
		log     string
		filter  Filter
		printed int
	}{
		"a probe":                   {probe, Filter{}, 0},
		"a probe, all":              {probe, Filter{All: true}, 1},
		"the version, for somebody": {selecting("/version?timeout=32s", "", ""), Filter{}, 1},
		"another path":              {selecting("/healthz", "", ""), Filter{}, 1},
		"another verb":              {strings.Replace(probe, `"verb":"get"`, `"verb":"post"`, 1), Filter{}, 1},
		"a resource of that path":   {selecting("/version", pod, ""), Filter{}, 1},
	} {
		if _, n, _ := print(t, strings.NewReader(tc.log), tc.filter, "json"); n.Printed != tc.printed || n.Events != 1 {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

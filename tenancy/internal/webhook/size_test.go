// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"

	"kube-granular.dev/tenancy/internal/accounts"
	"kube-granular.dev/tenancy/internal/webhook"
)

// TestSize checks that an LNamespace leaves room for its status, whatever field makes it large.
func TestSize(t *testing.T) {
	metadata := func(field string) string {
		return strings.Replace(full, `"name":"team",`, `"name":"team",`+field+`,`, 1)
	}
	filler := func(bytes int) string { return strings.Repeat("x", bytes) }
	labels := func(count int) string {
		b := strings.Builder{}
		for i := range count {
			fmt.Fprintf(&b, `"%060d":"%060d",`, i, i)
		}
		return metadata(`"labels":{` + strings.TrimSuffix(b.String(), ",") + `}`)
	}
	annotation := func(bytes int) string { return metadata(`"annotations":{"a":"` + filler(bytes) + `"}`) }
	for name, tc := range map[string]struct {
		before, now string
		refused     bool
	}{
		"new":                       {now: full},
		"new, many labels":          {now: labels(1000)},
		"new, too many labels":      {now: labels(4000), refused: true},
		"many labels":               {before: full, now: labels(1000)},
		"too many labels":           {before: full, now: labels(4000), refused: true},
		"a long name":               {before: full, now: metadata(`"generateName":"` + filler(400<<10) + `"`), refused: true},
		"as large as allowed":       {before: full, now: annotation(384<<10 - len(annotation(0)))},
		"a byte larger":             {before: full, now: annotation(384<<10 - len(annotation(0)) + 1), refused: true},
		"large before, and smaller": {before: annotation(500 << 10), now: annotation(400 << 10)},
		"large before, and as it is": {before: annotation(500 << 10),
			now: annotation(500 << 10)},
		"large before, and larger": {before: annotation(500 << 10), now: annotation(501 << 10), refused: true},
		"a large status": {before: full,
			now: strings.TrimSuffix(full, "}") + `,"status":{"sudoGroup":"` + filler(500<<10) + `"}}`},
	} {
		l := webhook.Lists{Client: api(t), Check: allowAll, IsReserved: isInfra, Accounts: func() (accounts.Mapping, error) { return people, nil }}
		operation := admissionv1.Update
		if tc.before == "" {
			operation = admissionv1.Create
		}
		req := asked(operation, "mia", []string{"g"}, tc.before, tc.now)
		req.UserInfo.Extra = map[string]authenticationv1.ExtraValue{"k": {"v"}}
		r := l.Handle(t.Context(), req)
		if r.Allowed == tc.refused || !r.Allowed && !strings.Contains(r.Result.Message, "its status would not fit") {
			t.Errorf("%s: allowed %t: %+v", name, r.Allowed, r.Result)
		}
	}
}

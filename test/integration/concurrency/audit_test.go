// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package concurrency

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/test/integration/harness"
)

// replay compares the audit log with the answers and the grants. It returns a text for each
// contradiction.
func replay(t *testing.T, log string, made []attempt) []string {
	t.Helper()
	byURI := map[string]*attempt{}
	for i := range made {
		byURI[fmt.Sprintf("fieldManager=r%d", made[i].id)] = &made[i]
	}
	var wrong []string
	seen := map[int]bool{}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		wrong, seen = nil, map[int]bool{}
		for _, event := range harness.Events(t, log) {
			_, query, _ := strings.Cut(event.RequestURI, "?")
			query, _, _ = strings.Cut(query, "&")
			if a := byURI[query]; a != nil {
				seen[a.id] = true
				wrong = append(wrong, recorded(a, &event)...)
			}
		}
		return len(seen) == len(made), nil
	})
	if err != nil {
		wrong = append(wrong, fmt.Sprintf("the audit log knows %d of %d requests: %v", len(seen), len(made), err))
	}
	return wrong
}

// recorded checks the audit event of one request, and returns a text for each contradiction.
func recorded(a *attempt, event *auditv1.Event) []string {
	var wrong []string
	say := func(format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("audit of request %d by %s (%d): ", a.id, a.user, a.status)+fmt.Sprintf(format, args...))
	}
	held := users[a.user]
	if event.ImpersonatedUser == nil || event.ImpersonatedUser.Username != a.user || int(event.ResponseStatus.Code) != a.status {
		say("it tells of %v and %v", event.ImpersonatedUser, event.ResponseStatus)
	}
	if marked := event.Annotations[audit.MarkedAnnotation] == "true"; marked != (slices.Contains(held, "granular")) {
		say("marked is %t", marked)
	}
	used := strings.Fields(event.Annotations[audit.PermissionsAnnotation])
	for _, verb := range used {
		if !slices.Contains(held, verb) && !(a.user == flipping && verb == flipped) {
			say("it used %s, which was never granted", verb)
		}
	}
	if a.status < 300 && slices.Contains(held, "granular") {
		for _, change := range a.changes {
			if !slices.ContainsFunc(covering[change], func(verb string) bool { return slices.Contains(used, verb) }) {
				say("%s was stored, and it used only %q", change, used)
			}
		}
	}
	missing := strings.Fields(event.Annotations[audit.MissingAnnotation])
	if a.status == http.StatusForbidden && slices.Contains(held, "granular") && len(missing) == 0 && !strings.Contains(a.answer, "no permission covers") {
		say("it does not say what is missing: %s", a.answer)
	}
	for _, verb := range missing {
		if a.status < 300 || slices.Contains(held, verb) {
			say("it misses %s", verb)
		}
	}
	return wrong
}

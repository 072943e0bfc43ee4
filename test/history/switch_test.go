// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/test/integration/harness"
)

const (
	authority = "/apis/authority.kube-granular.dev/v1alpha1/"
	namespace = "/api/v1/namespaces/history"
	account   = "system:serviceaccount:history:agent"
)

// toggle is a switch on the servers. Its attempts have one object for each server, so they don't meet.
type toggle struct {
	name, user string
	// enable and disable are the requests of the administrator that turn it.
	enable, disable harness.Call
	// object is the path of an attempt's object, without the number of the server, and body makes its patch.
	object string
	body   func(number int) string
	header http.Header
	// closes reports whether an attempt is refused while the switch is on, with a message that has the text; otherwise it is refused
	// while the switch is off.
	closes bool
	text   string
	record record
}

// toggles returns the switches. The account is bound to a delegation with the given UID.
func toggles(delegation string) []*toggle {
	create := func(resource, body string) harness.Call {
		return harness.Call{Method: http.MethodPost, Path: authority + resource, ContentType: harness.ContentTypes["json"], Body: body}
	}
	remove := func(resource, name string) harness.Call {
		return harness.Call{Method: http.MethodDelete, Path: authority + resource + "/" + name}
	}
	annotate := func(value string) harness.Call {
		return harness.Call{Method: http.MethodPatch, Path: namespace + "/serviceaccounts/agent", ContentType: harness.ContentTypes["merge"],
			Body: map[string]any{"metadata": map[string]any{"annotations": map[string]any{selection.BindingAnnotation: value}}}}
	}
	data := func(number int) string { return fmt.Sprintf(`{"data":{"a":"%d"}}`, number) }
	return []*toggle{
		{
			name: "attribute", user: "editor", object: namespace + "/configmaps/attribute-", closes: true, text: "a protected label",
			enable: create("clusterprotectedattributes", `{"metadata":{"name":"history"},"spec":{"attributeKind":"Label","attributeName":"example.com/tier",
				"roleRef":{"kind":"ClusterRole","name":"tier-setter"}}}`),
			disable: remove("clusterprotectedattributes", "history"),
			body: func(number int) string {
				return fmt.Sprintf(`{"metadata":{"labels":{"example.com/tier":"v%d"}}}`, number)
			},
		},
		{
			name: "field permission", user: "editor", object: namespace + "/services/field-", closes: true, text: "(excluded by FieldPermission services)",
			enable: create("fieldpermissions", `{"metadata":{"name":"services"},"spec":{"mode":"Enforce","version":"v1","fields":[
				{"path":".spec.externalIPs","permission":"example.com/externalIPs","excluded":true}]}}`),
			disable: remove("fieldpermissions", "services"),
			body: func(number int) string {
				return fmt.Sprintf(`{"spec":{"externalIPs":["203.0.%d.%d"]}}`, number/250%250, number%250)
			},
		},
		{
			name: "delegation", user: "bot", object: namespace + "/configmaps/delegation-",
			header: http.Header{selection.Header: {`{"authorityReference":{"kind":"AuthorityDelegation","name":"history"}}`}},
			enable: create("authoritydelegations", `{"metadata":{"name":"history"},"spec":{"delegates":[{"kind":"User","name":"bot"}],"scope":{"namespace":"history"},
				"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","patch"]}]}}`),
			disable: remove("authoritydelegations", "history"), body: data,
		},
		{
			name: "binding", user: account, object: namespace + "/configmaps/binding-", closes: true,
			enable: annotate(fmt.Sprintf(`{"name":"bound","uid":%q}`, delegation)), disable: annotate(""), body: data,
		},
	}
}

// requestTimeout is short, because a server that is cut off does not answer.
const requestTimeout = 5 * time.Second

// try makes an attempt, and reports whether it shows anything.
func (s *toggle) try(ctx context.Context, server *server, number int) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	call := time.Now()
	a, err := server.client.Do(ctx, harness.Call{
		As: rest.ImpersonationConfig{UserName: s.user}, Method: http.MethodPatch, Path: fmt.Sprint(s.object, server.slot),
		ContentType: harness.ContentTypes["merge"], Header: s.header, Body: s.body(number),
	})
	refused := err == nil && a.Code == http.StatusForbidden && strings.Contains(a.Message(), s.text)
	if err != nil || !refused && a.Code != http.StatusOK {
		return false
	}
	s.record.addAttempt(attempt{active: refused == s.closes, server: server, call: call, answer: time.Now()})
	return true
}

// seen returns what the last attempt on a server saw.
func (r *record) seen(s *server) (active, known bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for i := len(r.attempts) - 1; i >= 0; i-- {
		if r.attempts[i].server == s {
			return r.attempts[i].active, true
		}
	}
	return false, false
}

// last returns what the last turn left.
func (r *record) last() bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	return len(r.turns) > 0 && r.turns[len(r.turns)-1].active
}

// write sends a turn, and reports whether the server answered that it is made.
func (s *toggle) write(ctx context.Context, server *server, active bool) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request := s.disable
	if active {
		request = s.enable
	}
	t := &turn{active: active, server: server, call: time.Now(), answered: true}
	a, err := server.client.Do(ctx, request)
	if err != nil || a.Code >= 300 {
		return false
	}
	t.answer = time.Now()
	s.record.addTurn(t)
	return true
}

// find reads what is stored. If an unanswered turn was made, it is recorded.
func (s *toggle) find(ctx context.Context, server *server, active bool, call time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	path := s.disable.Path
	a, err := server.client.Do(ctx, harness.Call{Method: http.MethodGet, Path: path})
	if err != nil || a.Code != http.StatusOK && a.Code != http.StatusNotFound {
		return false
	}
	stored := a.Code == http.StatusOK
	if s.disable.Method != http.MethodDelete {
		stored = strings.Contains(string(a.Body), `\"name\":\"bound\"`)
	}
	if stored == active {
		s.record.addTurn(&turn{active: active, server: server, call: call, answer: time.Now()})
	}
	return true
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// stopping returns a webhook that answers, and a function that stops it. A server loads no webhook
// that does not answer.
func stopping(t *testing.T, name string) (h *hook, stop func()) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{}}`)
	}))
	t.Cleanup(server.Close)
	return hookAt(t, name, server.URL), server.Close
}

// hookAt returns a webhook at a URL. It starts no server there.
func hookAt(t *testing.T, name, url string) *hook {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["webhook"] = &clientcmdapi.Cluster{Server: url, InsecureSkipTLSVerify: true}
	config.AuthInfos["server"] = &clientcmdapi.AuthInfo{}
	config.Contexts["webhook"] = &clientcmdapi.Context{Cluster: "webhook", AuthInfo: "server"}
	config.CurrentContext = "webhook"
	h := &hook{name: name, kubeconfig: filepath.Join(t.TempDir(), "webhook.kubeconfig")}
	if err := clientcmd.WriteToFile(*config, h.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestFailures checks granular requests if a webhook in front of RBAC fails on one of the
// verbs, for several kinds of failure and both failure policies. Other authorizers of the chain
// would allow the request of one user and not that of its twin. A failure must never let the
// twin through.
func TestFailures(t *testing.T) {
	ways := map[string]string{"slow": "delay: 20s", "garbage": "garbage: true", "forbids": "status: 403", "down": ""}
	const specific = "granular:label(own.example.com)"
	for _, policy := range []string{"Deny", "NoOpinion"} {
		t.Run(policy, func(t *testing.T) {
			asked := &asking{}
			var faults []string
			for way, fault := range ways {
				if fault != "" {
					// The name of a user says on which verb, and how, the webhook fails for
					// this user.
					for _, verb := range []string{"patch", "granular", "granular:labels", specific} {
						faults = append(faults, fmt.Sprintf("{users: [%q], verbs: [%q], %s}", named(way, verb, "*"), verb, fault))
					}
				}
			}
			fails := newHook(t, asked, "fails", "faults: ["+strings.Join(faults, ", ")+"]")
			gone, stop := stopping(t, "gone")
			// This webhook allows what RBAC would allow, and needs no waiting for informers.
			holds := newHook(t, asked, "holds", holdsPolicy(ways, specific))
			use(t,
				fails.in(settings{failure: policy, timeout: "500ms", match: []string{aboutObjects, "!request.user.startsWith('down-')"}}),
				gone.in(settings{failure: policy, timeout: "500ms", match: []string{aboutObjects, "request.user.startsWith('down-') && request.user.contains(request.resourceAttributes.verb.replace(':', '-').replace('(', '-').replace(')', '-') + '-at')"}}),
				node, holds.in(settings{match: []string{aboutObjects}}), rbac)
			stop()
			for way := range ways {
				for _, tc := range []struct {
					verb string
					// holds and lacks map the failure policy to the expected status code, for a
					// user that holds the permission and for one that lacks it.
					holds, lacks map[string]int
				}{
					{"patch", map[string]int{"Deny": 500, "NoOpinion": 500},
						map[string]int{"Deny": 500, "NoOpinion": 500}},
					{"granular", map[string]int{"Deny": 500, "NoOpinion": 200},
						map[string]int{"Deny": 500, "NoOpinion": 403}},
					{"granular:labels", map[string]int{"Deny": 200, "NoOpinion": 200},
						map[string]int{"Deny": 500, "NoOpinion": 500}},
					{specific, map[string]int{"Deny": 500, "NoOpinion": 200},
						map[string]int{"Deny": 500, "NoOpinion": 500}},
				} {
					answers := map[string]int{"holds": tc.holds[policy], "lacks": tc.lacks[policy]}
					if tc.verb == "patch" {
						// If the failure counts as no opinion, the next authorizer of the chain
						// allows a user that holds patch.
						answers["patches"] = map[string]int{"Deny": 500, "NoOpinion": 200}[policy]
					}
					for who, want := range answers {
						user := named(way, tc.verb, who)
						t.Run(user, func(t *testing.T) {
							t.Parallel()
							path := made(t, "default")
							a := send(t, user, http.MethodPatch, path, "merge", label(1))
							if a.Code != want {
								t.Errorf("got %s, wanted %d", a, want)
							}
							stored := strings.Contains(string(must(t, http.MethodGet, path, "", "").Body), "own.example.com/l")
							if stored != (want == 200) {
								t.Errorf("the label was stored: %t, the answer was %s", stored, a)
							}
							if tc.verb != "patch" && strings.Contains(a.Message(), "127.0.0.1") {
								t.Errorf("the answer shows the address of the webhook: %s", a)
							}
						})
					}
				}
			}
		})
	}
}

// named returns the name of a user for whom a webhook fails on a verb, in the given way.
func named(way, verb, who string) string {
	return way + "-" + strings.NewReplacer(":", "-", "(", "-", ")", "-").Replace(verb) + "-at-" + who
}

// holdsPolicy returns the policy of the webhook that allows the users what their names say:
// granular for all, and the specific permission or patch for some.
func holdsPolicy(ways map[string]string, specific string) string {
	var holding, all, patching []string
	for way := range ways {
		patching = append(patching, fmt.Sprintf("%q", named(way, "patch", "patches")))
		for _, verb := range []string{"patch", "granular", "granular:labels", specific} {
			holding = append(holding, fmt.Sprintf("%q", named(way, verb, "holds")))
			all = append(all, fmt.Sprintf("%q, %q", named(way, verb, "holds"), named(way, verb, "lacks")))
		}
	}
	return "allow: [{users: [" + strings.Join(holding, ", ") + `], verbs: ["` + specific + `"]}, {users: [` + strings.Join(all, ", ") + `], verbs: [granular, get]}, {users: [` + strings.Join(patching, ", ") + `], verbs: [patch, get]}]`
}

// logged reports whether the log of a server contains a text, which may span several lines.
func logged(t *testing.T, dir, what string) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "kube-apiserver.log"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(data), what)
}

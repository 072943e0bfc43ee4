// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// down is a webhook that nobody runs.
func down(t *testing.T, name string) *hook {
	t.Helper()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	return hookAt(t, name, "https://"+nobody.Addr().String())
}

// hookAt is a webhook that somebody else runs, or nobody.
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

// TestFailures holds what becomes of a granular request where a webhook in front of RBAC
// fails on one of its questions, in every way and under both failure policies. RBAC alone
// would allow the request; its twin is one that RBAC does not allow, which no failure helps.
func TestFailures(t *testing.T) {
	ways := map[string]string{"slow": "delay: 20s", "garbage": "garbage: true", "forbids": "status: 403", "down": ""}
	const specific = "granular:label(own.example.com)"
	for _, policy := range []string{"Deny", "NoOpinion"} {
		t.Run(policy, func(t *testing.T) {
			asked := &asking{}
			var faults []string
			for way, fault := range ways {
				if fault != "" {
					// A user's name says at which verb the webhook fails about it, and how.
					for _, verb := range []string{"patch", "granular", "granular:labels", specific} {
						faults = append(faults, fmt.Sprintf("{users: [%q], verbs: [%q], %s}", named(way, verb, "*"), verb, fault))
					}
				}
			}
			fails := newHook(t, asked, "fails", "faults: ["+strings.Join(faults, ", ")+"]")
			gone := down(t, "gone")
			// What RBAC would say, known at once.
			holds := newHook(t, asked, "holds", holdsPolicy(ways, specific))
			use(t,
				fails.in(settings{failure: policy, timeout: "500ms", match: []string{aboutObjects, "!request.user.startsWith('down-')"}}),
				gone.in(settings{failure: policy, timeout: "500ms", match: []string{aboutObjects, "request.user.startsWith('down-') && request.user.contains(request.resourceAttributes.verb.replace(':', '-').replace('(', '-').replace(')', '-') + '-at')"}}),
				node, holds.in(settings{match: []string{aboutObjects}}), rbac)
			for way := range ways {
				for _, tc := range []struct {
					verb string
					// holds and lacks are what is answered to who holds the permission and to
					// who lacks it, where the failure is a Deny and where it is none.
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
						// Who holds the verb of the request is allowed it by the next of the chain.
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
								t.Errorf("the caller is told where the webhook is: %s", a)
							}
						})
					}
				}
			}
		})
	}
}

// named is a user about whom a webhook fails at a verb, in some way.
func named(way, verb, who string) string {
	return way + "-" + strings.NewReplacer(":", "-", "(", "-", ")", "-").Replace(verb) + "-at-" + who
}

// holdsPolicy gives those who hold the permission what they hold, and the others granular.
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

// logged reports whether the log of a server says something, some of which goes over lines.
func logged(t *testing.T, dir, what string) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "kube-apiserver.log"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(data), what)
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package examplewebhook

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// running is a running webhook with a client that connects to it by the kubeconfig that it wrote.
type running struct {
	*Server
	policy string
	client *http.Client

	mu       sync.Mutex
	answered []Record
	failed   []error
}

func run(t *testing.T, policy string) *running {
	t.Helper()
	dir := t.TempDir()
	r := &running{policy: filepath.Join(dir, "policy.yaml")}
	r.write(t, policy)
	kubeconfig := filepath.Join(dir, "webhook.kubeconfig")
	server, err := Start(Options{
		Policy: r.policy, Listen: "127.0.0.1:0", Kubeconfig: kubeconfig,
		OnReview: func(a Record) { r.mu.Lock(); defer r.mu.Unlock(); r.answered = append(r.answered, a) },
		OnError:  func(err error) { r.mu.Lock(); defer r.mu.Unlock(); r.failed = append(r.failed, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	r.Server = server
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != server.URL {
		t.Errorf("the kubeconfig names %s, not %s", config.Host, server.URL)
	}
	if r.client, err = rest.HTTPClientFor(config); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *running) write(t *testing.T, policy string) {
	t.Helper()
	if err := os.WriteFile(r.policy, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ask sends a SubjectAccessReview of a version for a patch by a user. It returns the status code
// and the body of the response.
func (r *running) ask(t *testing.T, version, user string) (int, string, error) {
	t.Helper()
	body, err := json.Marshal(authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/" + version, Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "patch", Resource: "pods"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := r.client.Post(r.URL, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

const faulty = `
faults: [{users: [broken], status: 503}, {users: [garbled], garbage: true}, {users: [gone], hangup: true}, {users: [slow], delay: 1ms}]
deny: [{users: [bob], reason: not you}]
allow: [{users: [ann, slow, broken, garbled, gone]}]
`

func TestServer(t *testing.T) {
	r := run(t, faulty)
	for _, tc := range []struct {
		version, user string
		code          int
		says          string
	}{
		{"v1", "ann", 200, `"status":{"allowed":true}`},
		{"v1", "bob", 200, `"status":{"allowed":false,"denied":true,"reason":"not you"}`},
		{"v1", "eve", 200, `"status":{"allowed":false}`},
		{"v1", "slow", 200, `"status":{"allowed":true}`},
		{"v1", "broken", 503, "has a fault for this review"},
		{"v1", "garbled", 200, `"status":"garbage"`},
		{"v1beta1", "ann", 400, "set subjectAccessReviewVersion: v1"},
	} {
		if code, says, err := r.ask(t, tc.version, tc.user); err != nil || code != tc.code || !strings.Contains(says, tc.says) {
			t.Errorf("%s %s: %d %s %v, wanted %d and %s", tc.version, tc.user, code, says, err, tc.code, tc.says)
		}
	}
	if code, says, err := r.ask(t, "v1", "gone"); err == nil {
		t.Errorf("it did not hang up: %d %s", code, says)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answered) != 7 || r.answered[1].Review.User != "bob" || r.answered[1].Answer.Reason != "not you" {
		t.Errorf("told of %+v", r.answered)
	}
}

// TestPolicyChanges holds that a changed policy file is read again, and that a file that is not
// valid causes an error and does not replace the policy.
func TestPolicyChanges(t *testing.T) {
	r := run(t, "allow: [{users: [ann]}]")
	expect := func(user, says string) {
		t.Helper()
		if _, got, err := r.ask(t, "v1", user); err != nil || !strings.Contains(got, says) {
			t.Errorf("%s: %s %v, wanted %s", user, got, err, says)
		}
	}
	expect("ann", `"allowed":true`)
	r.write(t, "allow: [{users: [bob]}]")
	expect("ann", `"allowed":false`)
	expect("bob", `"allowed":true`)
	r.write(t, "allow: [")
	expect("bob", `"allowed":true`)
	expect("ann", `"allowed":false`)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) == 0 || !strings.Contains(r.failed[0].Error(), r.policy) {
		t.Errorf("complained of %v", r.failed)
	}
}

func TestStartRefuses(t *testing.T) {
	good, bad := filepath.Join(t.TempDir(), "policy.yaml"), filepath.Join(t.TempDir(), "policy.yaml")
	for file, text := range map[string]string{good: "", bad: "allows: []"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name string
		o    Options
		want string
	}{
		{"no policy", Options{Policy: "/no/such/file", Listen: "127.0.0.1:0"}, "policy /no/such/file"},
		{"a policy that can't be read", Options{Policy: bad, Listen: "127.0.0.1:0"}, "policy " + bad},
		{"an address that others reach", Options{Policy: good, Listen: "0.0.0.0:0"}, "not a loopback address"},
		{"no address", Options{Policy: good, Listen: "9443"}, "listen:"},
		{"nowhere to write", Options{Policy: good, Listen: "127.0.0.1:0", Kubeconfig: "/dev/null/file"},
			"write the kubeconfig"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := Start(tc.o)
			if err == nil {
				_ = s.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

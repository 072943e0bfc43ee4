// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/pkg/authorization/granular"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kubernetes/pkg/kubeapiserver/authorizer"
)

// chain is the chain of authorizers of a server, which reloads its configuration.
type chain struct {
	upstream.Authorizer
	dir, file string
}

// reviewer is a webhook whose certificate can change.
type reviewer struct {
	*httptest.Server
	name string
	// pair is the certificate of the server, and ca the same as PEM.
	pair atomic.Pointer[tls.Certificate]
	ca   []byte
}

// newReviewer starts a webhook, which answers with what allows returns.
func newReviewer(t *testing.T, name string, allows func(review *authorizationv1.SubjectAccessReview) bool) *reviewer {
	t.Helper()
	r := &reviewer{name: name}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		review := &authorizationv1.SubjectAccessReview{}
		if err := json.NewDecoder(req.Body).Decode(review); err != nil {
			t.Error(err)
		}
		review.Status.Allowed = allows(review)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	r.renew(t)
	r.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return r.pair.Load(), nil }}
	r.StartTLS()
	// The package httptest adds a certificate, which the server would use for an address without a name.
	r.TLS.Certificates = nil
	t.Cleanup(r.Close)
	return r
}

// renew gives the webhook a new certificate, and closes the connections that have the old one.
func (r *reviewer) renew(t *testing.T) {
	t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.ParseIP("127.0.0.1")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	r.pair.Store(&pair)
	r.ca = certificate
	r.CloseClientConnections()
}

// startChain starts a chain with webhooks and an authorizer that never allows.
func startChain(t *testing.T, webhooks ...*reviewer) *chain {
	t.Helper()
	// The seam is installed by a function, and all servers of the test have the same.
	granular.InstallConfigurations(func() granular.Configurations { return Checks{} })
	c := &chain{dir: t.TempDir()}
	c.file = filepath.Join(c.dir, "authorization.yaml")
	for _, w := range webhooks {
		c.connect(t, w, w.ca)
	}
	c.use(t, webhooks...)
	config, data, err := authorizer.LoadAndValidateFile(c.file, authorizationcel.NewDefaultCompiler(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	c.Authorizer, _, err = authorizer.Config{
		ReloadFile: c.file, AuthorizationConfiguration: config, InitialAuthorizationConfigurationData: data,
		WebhookRetryBackoff: &wait.Backoff{Steps: 1}, WatchConnections: true,
	}.New(ctx, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// use writes a configuration with webhooks.
func (c *chain) use(t *testing.T, webhooks ...*reviewer) {
	t.Helper()
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n"
	for _, w := range webhooks {
		config += fmt.Sprintf(`- type: Webhook
  name: %s
  webhook:
    timeout: 10s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: Deny
    cacheAuthorizedRequests: false
    cacheUnauthorizedRequests: false
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: %s}
    matchConditions: [{expression: has(request.resourceAttributes)}]
`, w.name, filepath.Join(c.dir, w.name))
	}
	write(t, c.file, config+"- {type: AlwaysDeny, name: alwaysdeny}\n")
}

// connect writes the kubeconfig of a webhook, and the CA file that it names.
func (c *chain) connect(t *testing.T, w *reviewer, ca []byte) {
	t.Helper()
	file := filepath.Join(c.dir, w.name)
	write(t, file+".ca", string(ca))
	write(t, file, fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"w","contexts":[{"name":"w","context":{"cluster":"w","user":"w"}}],
"clusters":[{"name":"w","cluster":{"server":%q,"certificate-authority":%q}}],"users":[{"name":"w","user":{}}]}`, w.URL, file+".ca"))
}

// touch replaces the configuration file by a copy.
func (c *chain) touch(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, c.file, string(data))
}

// write replaces a file by a rename, so that no reader sees half of it.
func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// ask returns the decision about a request.
func (c *chain) ask(t *testing.T) upstream.Decision {
	t.Helper()
	decision, _, err := c.Authorize(t.Context(), upstream.AttributesRecord{
		User: &user.DefaultInfo{Name: "jane"}, Verb: "patch", Resource: "pods", APIVersion: "v1", ResourceRequest: true,
	})
	if err != nil {
		t.Errorf("the chain failed: %v", err)
	}
	return decision
}

// until waits for a condition.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return done(), nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// reloads returns how many reloads of the process had a status.
func reloads(t *testing.T, status string) (total float64) {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "apiserver_authorization_config_controller_automatic_reloads_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "status" && label.GetValue() == status {
					total += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return total
}

func allowing(*authorizationv1.SubjectAccessReview) bool { return true }

func denying(*authorizationv1.SubjectAccessReview) bool { return false }

// TestServerAnswersDuringProbe checks that the chain in force answers requests while a webhook does
// not answer its probe, and that the new chain is in force once it does.
func TestServerAnswersDuringProbe(t *testing.T) {
	old := newReviewer(t, "old", allowing)
	probing, release := make(chan struct{}), make(chan struct{})
	added := newReviewer(t, "added", func(review *authorizationv1.SubjectAccessReview) bool {
		if review.Spec.User == ProbeUser {
			close(probing)
			<-release
		}
		return false
	})
	c := startChain(t, old)
	c.connect(t, added, added.ca)
	c.use(t, added)
	select {
	case <-probing:
	case <-time.After(time.Minute):
		t.Fatal("no webhook is asked")
	}
	for range 20 {
		if got := c.ask(t); got != upstream.DecisionAllow {
			t.Fatalf("during the probe: %v", got)
		}
	}
	close(release)
	until(t, "the new chain", func() bool { return c.ask(t) == upstream.DecisionNoOpinion })
}

// TestServerKeepsGoodConfiguration checks that a chain with a webhook that does not answer is not
// used, and is tried again although its file has the same bytes.
func TestServerKeepsGoodConfiguration(t *testing.T) {
	old, added := newReviewer(t, "old", allowing), newReviewer(t, "added", denying)
	c := startChain(t, old)
	failures, successes := reloads(t, "failure"), reloads(t, "success")
	c.connect(t, added, old.ca)
	c.use(t, added)
	for range 2 {
		until(t, "a failure", func() bool { return reloads(t, "failure") > failures })
		if got := c.ask(t); got != upstream.DecisionAllow {
			t.Errorf("after a failure: %v", got)
		}
		failures = reloads(t, "failure")
		c.touch(t)
	}
	c.connect(t, added, added.ca)
	c.touch(t)
	until(t, "a success", func() bool { return reloads(t, "success") > successes })
	if got := c.ask(t); got != upstream.DecisionNoOpinion {
		t.Errorf("after the success: %v", got)
	}
}

// TestServerUsesChangedCA checks that a webhook in force gets the new content of the CA file that its
// kubeconfig names, although neither the configuration nor the kubeconfig changes.
func TestServerUsesChangedCA(t *testing.T) {
	w := newReviewer(t, "w", allowing)
	c := startChain(t, w)
	if got := c.ask(t); got != upstream.DecisionAllow {
		t.Fatalf("at the start: %v", got)
	}
	successes := reloads(t, "success")
	w.renew(t)
	c.connect(t, w, w.ca)
	c.touch(t)
	until(t, "a success", func() bool { return reloads(t, "success") > successes })
	if got := c.ask(t); got != upstream.DecisionAllow {
		t.Errorf("with the new certificate: %v", got)
	}
}

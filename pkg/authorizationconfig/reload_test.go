// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authorization/granular"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

var healthy = answering(authorizationv1.SubjectAccessReviewStatus{Denied: true})

// accepted checks that a configuration passes, and uses it. It returns whether it reconnects.
func accepted(t *testing.T, r granular.Reload, config *apiserverapi.AuthorizationConfiguration) bool {
	t.Helper()
	reconnects, err := r.Check(t.Context(), config, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Use()
	if r.Due() {
		t.Error("an accepted configuration is due")
	}
	return reconnects
}

// refused checks that a configuration does not pass.
func refused(t *testing.T, r granular.Reload, config *apiserverapi.AuthorizationConfiguration) {
	t.Helper()
	if reconnects, err := r.Check(t.Context(), config, nil); err == nil || reconnects {
		t.Fatalf("got %t, %v", reconnects, err)
	}
}

// TestReloadProbesOnlyNew checks that a webhook in force is not asked and blocks nothing, even if it
// does not run, is renamed or moved, or gets other match conditions.
func TestReloadProbesOnlyNew(t *testing.T) {
	old, added := newHook(t, "old", healthy), newHook(t, "added", healthy)
	old.Close()
	r := Checks{}.NewReload("f", chained(old.in()), nil, true)
	if r.Due() {
		t.Error("the configuration of the start is due")
	}
	renamed := old.in()
	renamed.Name = "renamed"
	renamed.Webhook.MatchConditions, renamed.Webhook.FailurePolicy = nil, apiserverapi.FailurePolicyNoOpinion
	if !accepted(t, r, chained(added.in(), renamed)) {
		t.Error("a new webhook does not reconnect")
	}
	if accepted(t, r, chained(added.in(), renamed)) {
		t.Error("the same webhooks reconnect")
	}
	if added.count() != 1 {
		t.Errorf("the new webhook was asked %d times", added.count())
	}
	version := old.in()
	version.Webhook.SubjectAccessReviewVersion = "v1beta1"
	refused(t, r, chained(added.in(), version))
	// A webhook that is no longer in force is new.
	accepted(t, r, chained(added.in()))
	refused(t, r, chained(added.in(), old.in()))
}

// TestReloadAgain checks that a configuration whose webhook did not answer is due, although nothing
// changes, until it answers. A webhook that did not answer is not in force.
func TestReloadAgain(t *testing.T) {
	var repaired atomic.Bool
	h := newHook(t, "h", func(w http.ResponseWriter, req *http.Request) {
		if !repaired.Load() {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		healthy(w, req)
	})
	r := Checks{}.NewReload("f", chained(), nil, true)
	for range 2 {
		refused(t, r, chained(h.in()))
		if !r.Due() {
			t.Error("not due")
		}
	}
	repaired.Store(true)
	if !accepted(t, r, chained(h.in())) {
		t.Error("does not reconnect")
	}
}

// TestReloadBack checks that after a failure the configuration in force is loaded again, and that an
// invalid file is due only when it changes.
func TestReloadBack(t *testing.T) {
	old, gone := newHook(t, "old", healthy), newHook(t, "gone", nil)
	gone.Close()
	r := Checks{}.NewReload("f", chained(old.in()), nil, true)
	refused(t, r, chained(gone.in()))
	if !accepted(t, r, chained(old.in())) || old.count() != 0 {
		t.Errorf("the configuration in force is not loaded again, or asked %d times", old.count())
	}
	refused(t, r, chained(gone.in()))
	if _, err := r.Check(t.Context(), nil, errors.New("no YAML")); err == nil || r.Due() {
		t.Errorf("got %v; due: %t", err, r.Due())
	}
	old.write(t, func(c *clientcmdapi.Config) { c.AuthInfos["w"].Token = "other" })
	if r.Due() {
		t.Error("an invalid file is due")
	}
	if !accepted(t, r, chained(old.in())) || old.count() != 1 {
		t.Errorf("after an invalid file, the changed webhook was asked %d times", old.count())
	}
}

// TestReloadContent checks that the configuration is due when the content of a kubeconfig, or of a
// file that it names, changes; and is not due when only its form does.
func TestReloadContent(t *testing.T) {
	dir := t.TempDir()
	ca, token := filepath.Join(dir, "ca"), filepath.Join(dir, "token")
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	h, other := newHook(t, "h", healthy), newHook(t, "other", healthy)
	first, firstKey := newPair(t)
	second, secondKey := newPair(t)
	plain := func(c *clientcmdapi.Config) {
		c.Clusters["w"].CertificateAuthorityData, c.Clusters["w"].CertificateAuthority = nil, ca
		c.AuthInfos["w"] = &clientcmdapi.AuthInfo{TokenFile: token, ClientCertificate: cert, ClientKey: key}
	}
	with := func(edit func(c *clientcmdapi.Config)) func() {
		return func() { h.write(t, func(c *clientcmdapi.Config) { plain(c); edit(c) }) }
	}
	for _, tc := range []struct {
		name   string
		change func()
		due    bool
	}{
		{"nothing", func() {}, false},
		{"the CA file", func() { put(t, ca, append(h.ca(), first...)) }, true},
		{"the token file", func() { put(t, token, []byte("two")) }, true},
		{"the client certificate", func() { put(t, cert, second); put(t, key, secondKey) }, true},
		{"the address", with(func(c *clientcmdapi.Config) { c.Clusters["w"].Server = other.URL }), true},
		{"the CA", with(func(c *clientcmdapi.Config) {
			c.Clusters["w"].CertificateAuthority, c.Clusters["w"].CertificateAuthorityData = "", append(h.ca(), first...)
		}), true},
		{"the token", with(func(c *clientcmdapi.Config) { c.AuthInfos["w"].TokenFile, c.AuthInfos["w"].Token = "", "two" }), true},
		{"the server name", with(func(c *clientcmdapi.Config) { c.Clusters["w"].TLSServerName = "example.com" }), true},
		{"the proxy", with(func(c *clientcmdapi.Config) { c.Clusters["w"].ProxyURL = "http://127.0.0.1:1" }), true},
		{"the credential plugin", with(func(c *clientcmdapi.Config) {
			c.AuthInfos["w"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
				Command: "plugin", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}
		}), true},
		{"a context that is not used", with(func(c *clientcmdapi.Config) { c.Contexts["x"] = &clientcmdapi.Context{Cluster: "w"} }), false},
		{"a copy of a file", func() {
			put(t, ca+"-copy", h.ca())
			with(func(c *clientcmdapi.Config) { c.Clusters["w"].CertificateAuthority = ca + "-copy" })()
		}, false},
		{"it is no longer there", func() { h.kubeconfig += "-moved" }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kubeconfig := h.kubeconfig
			defer func() { h.kubeconfig = kubeconfig }()
			put(t, ca, h.ca())
			put(t, token, []byte("one"))
			put(t, cert, first)
			put(t, key, firstKey)
			with(func(*clientcmdapi.Config) {})()
			config := chained(h.in())
			r := Checks{}.NewReload("f", config, nil, true)
			if r.Due() {
				t.Error("due before the change")
			}
			tc.change()
			if r.Due() != tc.due {
				t.Errorf("due is %t", r.Due())
			}
		})
	}
	t.Run("two of one plugin", func(t *testing.T) {
		plugin := func(name string) func() {
			return with(func(c *clientcmdapi.Config) {
				c.AuthInfos["w"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
					Command: "plugin", Args: []string{name}, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}
			})
		}
		plugin("one")()
		r := Checks{}.NewReload("f", chained(h.in()), nil, true)
		plugin("two")()
		if !r.Due() {
			t.Error("another argument of a plugin is not due")
		}
	})
}

// TestReloadChangedWebhook checks that a webhook in force whose connection changed is asked, and that
// the old connection stays in force if it does not answer.
func TestReloadChangedWebhook(t *testing.T) {
	h := newHook(t, "h", healthy)
	config := chained(h.in())
	r := Checks{}.NewReload("f", config, nil, true)
	h.write(t, func(c *clientcmdapi.Config) { c.Clusters["w"].CertificateAuthorityData = anotherCA(t) })
	if !r.Due() {
		t.Error("another CA is not due")
	}
	refused(t, r, config)
	h.write(t, func(c *clientcmdapi.Config) { c.AuthInfos["w"].Token = "other" })
	if !r.Due() || !accepted(t, r, config) || h.count() != 1 {
		t.Errorf("asked %d times", h.count())
	}
}

// TestReloadWithoutWatch checks that no webhook is asked, and that a change of its connection is not noticed, if the server does
// not watch connections. All else is checked.
func TestReloadWithoutWatch(t *testing.T) {
	h := newHook(t, "h", healthy)
	h.Close()
	r := Checks{}.NewReload("f", chained(), nil, false)
	if accepted(t, r, chained(h.in())) {
		t.Error("a new webhook reconnects")
	}
	r.Use()
	h.write(t, func(c *clientcmdapi.Config) { c.AuthInfos["w"].Token = "other" })
	if r.Due() || r.Dial() != nil || h.count() > 0 {
		t.Errorf("due %t, asked %d times, or connections of its own", r.Due(), h.count())
	}
	missing := h.in()
	missing.Webhook.ConnectionInfo.KubeConfigFile = new(string)
	*missing.Webhook.ConnectionInfo.KubeConfigFile = filepath.Join(t.TempDir(), "missing")
	refused(t, r, chained(missing))
}

// TestReloadDial checks that probes and webhooks use the function of the server for dialing. Without
// one, each webhook has a function anyhow, so that it shares no connection with a former one.
func TestReloadDial(t *testing.T) {
	h := newHook(t, "h", healthy)
	dialed := 0
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed++
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	r := Checks{}.NewReload("f", chained(), dial, true)
	accepted(t, r, chained(h.in()))
	if dialed != 1 {
		t.Errorf("dialed %d times", dialed)
	}
	if (Checks{}).NewReload("f", chained(), nil, true).Dial() == nil {
		t.Error("a webhook shares its connections")
	}
	if connection, err := r.Dial()(t.Context(), "tcp", h.Listener.Addr().String()); err != nil || connection.Close() != nil || dialed != 2 {
		t.Errorf("%v, dialed %d times", err, dialed)
	}
}

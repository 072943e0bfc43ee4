// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kube-granular.dev/tenancy/internal/certs"
)

var (
	hosts = []string{"webhook.system.svc", "127.0.0.1"}
	noon  = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
)

const lifetime = 90 * 24 * time.Hour

// step calls Step once, and fails the test unless the result changed exactly if changes is true.
func step(t *testing.T, s certs.State, now time.Time, changes bool) certs.State {
	t.Helper()
	next, changed, err := certs.Step(s, hosts, now, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	if changed != changes {
		t.Fatalf("at %s: changed is %t", now, changed)
	}
	return next
}

// trusted reports whether a client that trusts the CAs of a bundle trusts the certificate of p.
func trusted(t *testing.T, bundle []byte, p certs.Pair, now time.Time) bool {
	t.Helper()
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	for _, host := range hosts {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now}); err != nil {
			return false
		}
	}
	return true
}

// TestRotation rotates the certificate three times. It checks that a client with the announced
// caBundle trusts the certificate that is served next, and that the previous certificate stays
// trusted until the next rotation.
func TestRotation(t *testing.T) {
	now := noon
	s := step(t, certs.State{}, now, true)
	step(t, s, now, false)
	for i := range 3 {
		now = now.Add(lifetime*2/3 - time.Hour)
		step(t, s, now, false)
		now = now.Add(2 * time.Hour)
		announced := step(t, s, now, true)
		if !bytes.Equal(announced.Current.Cert, s.Current.Cert) {
			t.Error("the new certificate is served before its CA was announced")
		}
		if !trusted(t, announced.Bundle(), announced.Next, now) || trusted(t, s.Bundle(), announced.Next, now) {
			t.Error("the bundle after the announcement must trust the next certificate, and the bundle before must not")
		}
		if n := bytes.Count(announced.Bundle(), []byte("BEGIN CERTIFICATE")); n != min(i, 1)+2 {
			t.Errorf("the bundle has %d CAs while one is announced", n)
		}
		step(t, announced, now.Add(time.Minute), false)
		now = now.Add(10 * time.Minute)
		served := step(t, announced, now, true)
		if !bytes.Equal(served.Current.Cert, announced.Next.Cert) || !trusted(t, served.Bundle(), s.Current, now) || !trusted(t, announced.Bundle(), served.Current, now) {
			t.Error("the served certificate is not the announced one, or the bundle does not trust the previous one any more")
		}
		if len(served.Next.Cert) != 0 {
			t.Error("the state already has a next certificate")
		}
		s = served
	}
	if n := bytes.Count(s.Bundle(), []byte("BEGIN CERTIFICATE")); n != 2 {
		t.Errorf("the bundle has %d CAs, want 2", n)
	}
	if bytes.Contains(s.Bundle(), []byte("PRIVATE")) {
		t.Error("the bundle has a key")
	}
}

// TestNoUse checks that a certificate that can't be served is replaced at once.
func TestNoUse(t *testing.T) {
	good := step(t, certs.State{}, noon, true)
	other, _, err := certs.Step(certs.State{}, []string{"elsewhere"}, noon, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string]certs.State{
		"another name": other,
		"no text":      {Current: certs.Pair{CA: []byte("x"), Cert: []byte("x"), Key: []byte("x")}},
		"another key":  {Current: certs.Pair{CA: good.Current.CA, Cert: good.Current.Cert, Key: other.Current.Key}},
		"another CA":   {Current: certs.Pair{CA: other.Current.CA, Cert: good.Current.Cert, Key: good.Current.Key}},
	}
	for name, s := range bad {
		if next := step(t, s, noon, true); !trusted(t, next.Bundle(), next.Current, noon) {
			t.Errorf("%s: the bundle does not trust the new certificate", name)
		}
	}
	late := noon.Add(lifetime + time.Hour)
	if next := step(t, good, late, true); !trusted(t, next.Bundle(), next.Current, late) {
		t.Error("expired: the bundle does not trust the new certificate")
	}
	// If the announced certificate can be served, it replaces the unusable one.
	half := step(t, good, noon.Add(lifetime*3/4), true)
	if next := step(t, half, late, true); !bytes.Equal(next.Current.Cert, half.Next.Cert) {
		t.Error("the announced certificate does not replace the expired one")
	}
}

// TestReplicas checks that two replicas serve the same certificate, and that they write its CA to
// the webhook configurations.
func TestReplicas(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hooks"},
			Webhooks: []admissionv1.MutatingWebhook{{Name: "a"}}},
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hooks"},
			Webhooks: []admissionv1.ValidatingWebhook{{Name: "b"}, {Name: "c"}}},
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "others"},
			Webhooks: []admissionv1.ValidatingWebhook{{Name: "d"}}},
	).Build()
	replica := func() *certs.Keeper {
		return &certs.Keeper{Client: api, Secret: client.ObjectKey{Namespace: "system", Name: "s"},
			Configurations: "hooks", Hosts: hosts, Lifetime: lifetime, Log: logr.Discard()}
	}
	a, b := replica(), replica()
	if err := a.Ready(nil); err == nil {
		t.Error("the replica is ready without a certificate")
	}
	for _, k := range []*certs.Keeper{a, b, a} {
		if err := k.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	one, err := a.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	two, err := b.GetCertificate(nil)
	if err != nil || !one.Leaf.Equal(two.Leaf) {
		t.Errorf("the replicas serve different certificates: %v", err)
	}
	if err := b.Ready(nil); err != nil {
		t.Error(err)
	}
	hooks, others := &admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{}
	if err := api.Get(context.Background(), client.ObjectKey{Name: "hooks"}, hooks); err != nil {
		t.Fatal(err)
	}
	if err := api.Get(context.Background(), client.ObjectKey{Name: "others"}, others); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(hooks.Webhooks[1].ClientConfig.CABundle)
	if _, err := one.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: hosts[0]}); err != nil {
		t.Error(err)
	}
	if len(others.Webhooks[0].ClientConfig.CABundle) != 0 {
		t.Error("the replica changed a webhook configuration with another name")
	}
	// Somebody removes a caBundle and deletes the Secret: the replica restores both.
	hooks.Webhooks[0].ClientConfig.CABundle = nil
	if err := api.Update(t.Context(), hooks); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "s"}}); err != nil {
		t.Fatal(err)
	}
	if err := a.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := api.Get(t.Context(), client.ObjectKey{Name: "hooks"}, hooks); err != nil || len(hooks.Webhooks[0].ClientConfig.CABundle) == 0 {
		t.Errorf("the removed caBundle was not restored: %v", err)
	}
	if two, err = a.GetCertificate(nil); err != nil || two.Leaf.Equal(one.Leaf) {
		t.Errorf("the certificate did not change after its Secret was deleted: %v", err)
	}
	for _, hook := range hooks.Webhooks {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(hook.ClientConfig.CABundle)
		if _, err := two.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: hosts[0]}); err != nil {
			t.Errorf("the caBundle of %s does not trust the new certificate: %v", hook.Name, err)
		}
	}
	short := replica()
	short.Lifetime = time.Second
	if err := short.Sync(t.Context()); err == nil {
		t.Error("no error for a lifetime of a second")
	}
}

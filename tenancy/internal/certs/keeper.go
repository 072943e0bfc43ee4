// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"kube-granular.dev/tenancy/internal/names"
)

// MinLifetime is the shortest lifetime of a certificate.
const MinLifetime = 10 * time.Second

// expiry is the metric for the expiration of the served certificate.
var expiry = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "tenancy_webhook_certificate_expiry_timestamp_seconds",
	Help: "Unix time at which the certificate that the webhooks serve expires. It is renewed when a third of its lifetime is left.",
})

func init() { metrics.Registry.MustRegister(expiry) }

// Keeper rotates the certificate of the webhooks. It runs in all replicas, not only in the
// leader.
type Keeper struct {
	// Client reads from and writes to the API server, without a cache.
	Client client.Client
	// Secret is the Secret with the certificate.
	Secret client.ObjectKey
	// Configurations is the name that the MutatingWebhookConfiguration and the
	// ValidatingWebhookConfiguration have. The Keeper sets the caBundle of their webhooks.
	Configurations string
	// Hosts are the names and addresses by which the API server calls the webhooks.
	Hosts []string
	// Lifetime is the lifetime of a certificate.
	Lifetime time.Duration
	// Log logs errors after which the Keeper retries.
	Log logr.Logger

	serving atomic.Pointer[tls.Certificate]
}

// NeedLeaderElection returns false, because the Keeper must run in each replica.
func (k *Keeper) NeedLeaderElection() bool { return false }

// GetCertificate returns the certificate to serve.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := k.serving.Load(); c != nil {
		return c, nil
	}
	return nil, errors.New("the webhooks have no certificate yet")
}

// Ready is a readiness check. It returns an error if there is no certificate to serve, or if the
// certificate has expired.
func (k *Keeper) Ready(*http.Request) error {
	c, err := k.GetCertificate(nil)
	if err != nil {
		return err
	}
	if time.Now().After(c.Leaf.NotAfter) {
		return errors.New("the certificate of the webhooks has expired")
	}
	return nil
}

// Start calls Sync at regular intervals until ctx is done, so that the certificate is renewed in
// time.
func (k *Keeper) Start(ctx context.Context) error {
	tick := time.NewTicker(checkInterval(k.Lifetime))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := k.Sync(ctx); err != nil && ctx.Err() == nil {
				k.Log.Error(err, "update the certificate of the webhooks; retrying")
			}
		}
	}
}

// Sync updates the Secret, the webhook configurations and the served certificate. If several
// replicas call Sync at the same time, the first replica writes the Secret. The others get a
// conflict, and then read the Secret.
func (k *Keeper) Sync(ctx context.Context) error {
	if k.Lifetime < MinLifetime {
		return fmt.Errorf("lifetime %s of the certificate is too short: want at least %s", k.Lifetime, MinLifetime)
	}
	state, err := k.step(ctx)
	for apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		state, err = k.step(ctx)
	}
	if err != nil {
		return fmt.Errorf("secret %s: %w", k.Secret, err)
	}
	pair, err := tls.X509KeyPair(state.Current.Cert, state.Current.Key)
	if err != nil {
		return err
	}
	if err := k.trust(ctx, state.Bundle()); err != nil {
		return err
	}
	k.serving.Store(&pair)
	expiry.Set(float64(pair.Leaf.NotAfter.Unix()))
	return nil
}

// step reads the state from the Secret, and returns the state that must follow now. If the two
// differ, step writes the returned state to the Secret.
func (k *Keeper) step(ctx context.Context) (State, error) {
	secret := &corev1.Secret{}
	err := k.Client.Get(ctx, k.Secret, secret)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return State{}, err
	}
	state, changed, err := Step(stateOf(secret.Data), k.Hosts, time.Now(), k.Lifetime)
	if err != nil || !changed {
		return state, err
	}
	secret.Data = state.data()
	if !absent {
		return state, k.Client.Update(ctx, secret)
	}
	secret.ObjectMeta = metav1.ObjectMeta{Namespace: k.Secret.Namespace, Name: k.Secret.Name, Labels: map[string]string{names.ManagedBy: names.Manager}}
	return state, k.Client.Create(ctx, secret)
}

// trust writes bundle, the CAs that the API server must trust, to the webhook configurations. If a
// configuration does not exist or the write conflicts, trust returns no error, because the next
// Sync tries again.
func (k *Keeper) trust(ctx context.Context, bundle []byte) error {
	key := client.ObjectKey{Name: k.Configurations}
	mutating := &admissionv1.MutatingWebhookConfiguration{}
	validating := &admissionv1.ValidatingWebhookConfiguration{}
	for _, object := range []client.Object{mutating, validating} {
		err := k.Client.Get(ctx, key, object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("webhook configuration %s: %w", key.Name, err)
		}
		changed := false
		set := func(c *admissionv1.WebhookClientConfig) {
			if !bytes.Equal(c.CABundle, bundle) {
				c.CABundle, changed = bundle, true
			}
		}
		for i := range mutating.Webhooks {
			set(&mutating.Webhooks[i].ClientConfig)
		}
		for i := range validating.Webhooks {
			set(&validating.Webhooks[i].ClientConfig)
		}
		if !changed {
			continue
		}
		if err := k.Client.Update(ctx, object); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("webhook configuration %s: %w", key.Name, err)
		}
	}
	return nil
}

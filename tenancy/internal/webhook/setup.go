// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/accounts"
)

// Configurations is the name that the MutatingWebhookConfiguration and the
// ValidatingWebhookConfiguration of these webhooks have.
const Configurations = "lnamespace"

// The URL paths at which the API server calls the webhooks.
const (
	DefaultPath  = "/default"
	ListsPath    = "/lists"
	RequestsPath = "/requests"
)

// Options are the options of the webhooks.
type Options struct {
	// Host and Port are the listen address.
	Host string
	Port int
	// Client sends requests to the API server. It has no cache.
	Client client.Client
	// Accounts is the path of the file that maps users and groups to accounts. If the path is
	// empty, the mapping is empty.
	Accounts string
	// Check returns an error as its first result if a new LNamespace is refused.
	Check func(context.Context, client.Reader, *v1alpha1.LNamespace) (refused, err error)
	// IsReserved reports whether a name is reserved for everybody.
	IsReserved func(name string) bool
	// GetCertificate returns the certificate to serve.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
}

// New returns the server of the webhooks.
func New(o Options) webhook.Server {
	server := webhook.NewServer(webhook.Options{Host: o.Host, Port: o.Port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.GetCertificate = o.GetCertificate
		c.MinVersion = tls.VersionTLS13
	}}})
	load := func() (accounts.Mapping, error) { return accounts.Load(o.Accounts) }
	for path, handler := range map[string]http.Handler{
		DefaultPath:  &webhook.Admission{Handler: &Default{Client: o.Client, Accounts: load}},
		ListsPath:    &webhook.Admission{Handler: &Lists{Client: o.Client, Accounts: load, Check: o.Check, IsReserved: o.IsReserved}},
		RequestsPath: &webhook.Admission{Handler: Requests{}},
	} {
		server.Register(path, handler)
	}
	return server
}

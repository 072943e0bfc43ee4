// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/tls"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"kube-granular.dev/tenancy/internal/accounts"
)

// Configurations is the name of the webhook configurations in the API server.
const Configurations = "lnamespace"

// The paths of the webhooks, as the configurations have them.
const (
	DefaultPath  = "/default"
	ListsPath    = "/lists"
	RequestsPath = "/requests"
)

// Options say where and for whom the webhooks are.
type Options struct {
	// Host and Port are where they listen.
	Host string
	Port int
	// Client asks the API server, without a cache.
	Client client.Client
	// Accounts is the file with the accounts of people; empty means that nobody has any.
	Accounts string
	// Reserved are names that no tenant may have, besides default and kube-*.
	Reserved []string
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
		DefaultPath:  &webhook.Admission{Handler: &Default{Accounts: load}},
		ListsPath:    &webhook.Admission{Handler: &Lists{Client: o.Client, Accounts: load, Reserved: o.Reserved}},
		RequestsPath: &webhook.Admission{Handler: Requests{}},
	} {
		server.Register(path, handler)
	}
	return server
}

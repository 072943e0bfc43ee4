// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// connection is a hash of all that decides how a server connects to a webhook: the address, the
// content of certificates and tokens, and the version of the reviews. If they can't be read, it is a
// hash of the error.
type connection [sha256.Size]byte

// connectionsOf returns the connections of the webhooks of a configuration, in their order.
func connectionsOf(config *apiserverapi.AuthorizationConfiguration) []connection {
	var out []connection
	for _, a := range config.Authorizers {
		if a.Webhook != nil {
			out = append(out, connectionOf(a.Webhook))
		}
	}
	return out
}

func connectionOf(w *apiserverapi.WebhookConfiguration) connection {
	if w.ConnectionInfo.KubeConfigFile == nil {
		return connection{}
	}
	text, err := describe(w)
	if err != nil {
		text = []byte("error: " + err.Error())
	}
	return sha256.Sum256(text)
}

// describe returns what a connection is the hash of. It contains credentials.
func describe(w *apiserverapi.WebhookConfiguration) ([]byte, error) {
	config, err := loadConnection(*w.ConnectionInfo.KubeConfigFile)
	if err != nil {
		return nil, err
	}
	var proxy *url.URL
	if config.Proxy != nil {
		// A kubeconfig names one proxy for all requests.
		if proxy, err = config.Proxy(&http.Request{URL: &url.URL{}}); err != nil {
			return nil, err
		}
	}
	return json.Marshal(struct {
		Version, Host, Username, Password, Token string
		TLS                                      rest.TLSClientConfig
		Impersonate                              rest.ImpersonationConfig
		AuthProvider                             *clientcmdapi.AuthProviderConfig
		Exec                                     *clientcmdapi.ExecConfig
		Proxy                                    *url.URL
		DisableCompression                       bool
	}{
		w.SubjectAccessReviewVersion, config.Host, config.Username, config.Password, config.BearerToken,
		config.TLSClientConfig, config.Impersonate, config.AuthProvider, config.ExecProvider, proxy, config.DisableCompression,
	})
}

// loadConnection returns the content of a kubeconfig with that of all files that it names, and
// without their names.
func loadConnection(kubeconfig string) (*rest.Config, error) {
	config, err := webhook.LoadKubeconfig(kubeconfig, nil)
	if err != nil {
		return nil, err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, err
	}
	// LoadKubeconfig has read this file.
	config.BearerTokenFile = ""
	config.CAFile, config.CertFile, config.KeyFile = "", "", ""
	return config, nil
}

// separateDial returns dial, or client-go's default if dial is nil. client-go shares the connections
// of all clients with equal TLS settings, and CA files are equal to it if their names are. It never
// shares those of a client with a function for dialing. So a webhook with such a function reads the
// CA file anew.
func separateDial(dial utilnet.DialFunc) utilnet.DialFunc {
	if dial != nil {
		return dial
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, address)
	}
}

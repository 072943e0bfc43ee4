// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/kubeconfig"

	"kube-granular.dev/pkg/localcluster/pki"
)

const (
	clusterName = "kube-granular"
	adminUser   = "admin"
	adminGroup  = "system:masters"
)

// kubeconfigs writes the kubeconfigs of one cluster.
type kubeconfigs struct {
	dir, url  string
	authority *pki.Authority
}

func (a kubeconfigs) path(user string) string {
	return filepath.Join(a.dir, user+".kubeconfig")
}

// byCertificate writes and returns the kubeconfig of a user with a client certificate.
func (a kubeconfigs) byCertificate(user string, groups ...string) (*clientcmdapi.Config, error) {
	return a.byCertificateAs(user, user, groups...)
}

// byCertificateAs is like byCertificate, but the name of the file is made from name and not from
// user.
func (a kubeconfigs) byCertificateAs(name, user string, groups ...string) (*clientcmdapi.Config, error) {
	cert, key, err := a.authority.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	return a.write(name, kubeconfig.CreateWithCerts(a.url, clusterName, user, a.authority.CertificatePEM(), key, cert))
}

// byToken writes the kubeconfig of a user with a token.
func (a kubeconfigs) byToken(user, token string) error {
	_, err := a.write(user, kubeconfig.CreateWithToken(a.url, clusterName, user, a.authority.CertificatePEM(), token))
	return err
}

func (a kubeconfigs) write(user string, config *clientcmdapi.Config) (*clientcmdapi.Config, error) {
	path := a.path(user)
	// The file is replaced by a rename. So a reader finds either the complete old file or the
	// complete new one, and the new file does not inherit a wider mode of the old one.
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("kubeconfig of %q: %w", user, err)
	}
	if err := clientcmd.WriteToFile(*config, temporary); err != nil {
		return nil, fmt.Errorf("kubeconfig of %q: %w", user, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return nil, fmt.Errorf("kubeconfig of %q: %w", user, err)
	}
	return config, nil
}

// restConfig returns a client configuration without client-side throttling, because during the
// start requests are repeated quickly until they succeed.
func restConfig(config *clientcmdapi.Config) (*rest.Config, error) {
	c, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	c.QPS = -1
	return rest.AddUserAgent(c, "kube-granular"), nil
}

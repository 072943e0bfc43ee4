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

// byCertificate writes the kubeconfig of a user with a client certificate.
func (a kubeconfigs) byCertificate(user string, groups ...string) (*clientcmdapi.Config, error) {
	return a.byCertificateAs(user, user, groups...)
}

// byCertificateAs writes the kubeconfig of a user into a file with another name.
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
	// The file is replaced by a rename: a reader finds the complete old or new file, and the new
	// one never has the wider mode of an old file.
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

// restConfig returns a client configuration without client-side throttling, because requests are
// repeated until they succeed during the start.
func restConfig(config *clientcmdapi.Config) (*rest.Config, error) {
	c, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	c.QPS = -1
	return rest.AddUserAgent(c, "kube-granular"), nil
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/pkiutil"
)

const (
	caName             = "ca"
	servingName        = "kube-apiserver"
	serviceAccountName = "service-accounts"

	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 365 * 24 * time.Hour

	// renewBefore is the minimum remaining lifetime of a certificate that is used again. Only a
	// start of the cluster renews certificates, and most clusters are started at least once a
	// month.
	renewBefore = 30 * 24 * time.Hour
)

// Files has the paths of the files that a kube-apiserver reads.
type Files struct {
	CA                       string
	ServingCert, ServingKey  string
	ServiceAccountSigningKey string
	ServiceAccountPublicKey  string
}

// Authority issues the certificates of one local cluster.
type Authority struct {
	dir  string
	now  func() time.Time
	cert *x509.Certificate
	key  crypto.Signer
}

// Ensure reads the certificates in dir and issues those that are missing: the certificate of the
// authority, a serving certificate for the loopback names and for the names that clients in a
// cluster use, and the service account key pair. If the authority's certificate is about to
// expire, Ensure replaces it and the serving certificate, and Client later replaces those of
// users. Ensure returns an error if it can't read a file, and does not overwrite that file.
func Ensure(dir string) (*Authority, Files, error) {
	return ensure(dir, time.Now)
}

func ensure(dir string, now func() time.Time) (*Authority, Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, Files{}, fmt.Errorf("create the directory for certificates: %w", err)
	}
	// MkdirAll does not change the mode of a directory that already exists.
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, Files{}, fmt.Errorf("restrict the directory for certificates to its owner: %w", err)
	}
	a := &Authority{dir: dir, now: now}
	if err := a.ensureCA(); err != nil {
		return nil, Files{}, err
	}
	if _, _, err := a.leaf(servingName, servingConfig()); err != nil {
		return nil, Files{}, err
	}
	if err := a.ensureServiceAccountKey(); err != nil {
		return nil, Files{}, err
	}
	f := Files{
		CA:                       filepath.Join(dir, caName+".crt"),
		ServiceAccountSigningKey: filepath.Join(dir, serviceAccountName+".key"),
		ServiceAccountPublicKey:  filepath.Join(dir, serviceAccountName+".pub"),
	}
	f.ServingCert, f.ServingKey = pkiutil.PathsForCertAndKey(dir, servingName)
	return a, f, nil
}

// CertificatePEM returns the authority's certificate, which clients must trust.
func (a *Authority) CertificatePEM() []byte {
	return pkiutil.EncodeCertPEM(a.cert)
}

// Client returns a client certificate and its key, as PEM, for a user with groups. Both are stored
// in files whose names begin with client- and the user's name, in which what a file name can't have is escaped.
func (a *Authority) Client(user string, groups ...string) (certPEM, keyPEM []byte, err error) {
	cert, key, err := a.leaf("client-"+url.PathEscape(user), certutil.Config{
		CommonName:   user,
		Organization: groups,
		Usages:       []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the key of user %q: %w", user, err)
	}
	return pkiutil.EncodeCertPEM(cert), keyPEM, nil
}

// servingConfig returns the configuration of the serving certificate, with the names of the server
// for clients on this machine and in a cluster. 10.0.0.1 is the address of the service kubernetes.
func servingConfig() certutil.Config {
	return certutil.Config{
		CommonName: servingName,
		AltNames: certutil.AltNames{
			DNSNames: []string{
				"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
				"kubernetes.default.svc.cluster.local",
			},
			IPs: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 0, 0, 1)},
		},
		Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

func (a *Authority) ensureCA() error {
	if pkiutil.CertOrKeyExist(a.dir, caName) {
		cert, key, err := a.load(caName)
		if err != nil {
			return err
		}
		if a.isFresh(cert) {
			a.cert, a.key = cert, key
			return nil
		}
	}
	cert, key, err := pkiutil.NewCertificateAuthority(a.config(certutil.Config{CommonName: "kube-granular local CA"}, caLifetime))
	if err != nil {
		return fmt.Errorf("issue the certificate authority: %w", err)
	}
	if err := pkiutil.WriteCertAndKey(a.dir, caName, cert, key); err != nil {
		return fmt.Errorf("write the certificate authority: %w", err)
	}
	a.cert, a.key = cert, key
	return nil
}

// ensureServiceAccountKey creates the key pair for service account tokens, if there is none. It
// never replaces a key pair, because keys do not expire and a new key would invalidate all tokens.
func (a *Authority) ensureServiceAccountKey() error {
	path := filepath.Join(a.dir, serviceAccountName+".key")
	if _, err := os.Stat(path); err == nil {
		if _, _, err := pkiutil.TryLoadPrivatePublicKeyFromDisk(a.dir, serviceAccountName); err != nil {
			return fmt.Errorf("service account key: %w (remove both files to have new ones made)", err)
		}
		return nil
	} else if !os.IsNotExist(err) {
		return fmt.Errorf("service account key: %w", err)
	}
	key, err := pkiutil.GeneratePrivateKey(kubeadm.EncryptionAlgorithmECDSAP256)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	// The private key is written last: if it exists, the pair is complete.
	if err := pkiutil.WritePublicKey(a.dir, serviceAccountName, key.Public()); err != nil {
		return fmt.Errorf("write the service account key: %w", err)
	}
	if err := pkiutil.WriteKey(a.dir, serviceAccountName, key); err != nil {
		return fmt.Errorf("write the service account key: %w", err)
	}
	return nil
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/pkiutil"
)

// leaf returns the certificate and the key with a name. It issues and stores new ones if there are
// none on disk, or if the certificate on disk does not match cfg or is about to expire.
func (a *Authority) leaf(name string, cfg certutil.Config) (*x509.Certificate, crypto.Signer, error) {
	if pkiutil.CertOrKeyExist(a.dir, name) {
		cert, key, err := a.load(name)
		if err != nil {
			return nil, nil, err
		}
		if a.isFresh(cert) && matchesConfig(cert, cfg) && cert.CheckSignatureFrom(a.cert) == nil {
			return cert, key, nil
		}
	}
	cert, key, err := pkiutil.NewCertAndKey(a.cert, a.key, a.config(cfg, leafLifetime))
	if err != nil {
		return nil, nil, fmt.Errorf("issue certificate %q: %w", name, err)
	}
	if err := pkiutil.WriteCertAndKey(a.dir, name, cert, key); err != nil {
		return nil, nil, fmt.Errorf("write certificate %q: %w", name, err)
	}
	return cert, key, nil
}

// load reads a certificate and a key, and verifies that they match.
func (a *Authority) load(name string) (*x509.Certificate, crypto.Signer, error) {
	cert, key, err := pkiutil.TryLoadCertAndKeyFromDisk(a.dir, name)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate %q: %w (remove its .crt and .key to have it issued anew)", name, err)
	}
	if !isKeyPair(cert.PublicKey, key.Public()) {
		return nil, nil, fmt.Errorf("certificate %q in %s: the key is not the certificate's (remove its .crt and .key to have it issued anew)", name, a.dir)
	}
	return cert, key, nil
}

func (a *Authority) isFresh(cert *x509.Certificate) bool {
	return cert.NotAfter.After(a.now().Add(renewBefore))
}

func (a *Authority) config(cfg certutil.Config, lifetime time.Duration) *pkiutil.CertConfig {
	cfg.NotBefore = a.now().UTC()
	return &pkiutil.CertConfig{
		Config:              cfg,
		NotAfter:            a.now().UTC().Add(lifetime),
		EncryptionAlgorithm: kubeadm.EncryptionAlgorithmECDSAP256,
	}
}

// matchesConfig reports whether the certificate has exactly the subject, groups and hosts of cfg.
func matchesConfig(cert *x509.Certificate, cfg certutil.Config) bool {
	var have, want []string
	for _, ip := range cert.IPAddresses {
		have = append(have, ip.String())
	}
	for _, ip := range cfg.AltNames.IPs {
		want = append(want, ip.String())
	}
	return cert.Subject.CommonName == cfg.CommonName &&
		sets.New(cert.Subject.Organization...).Equal(sets.New(cfg.Organization...)) &&
		sets.New(cert.DNSNames...).Equal(sets.New(cfg.AltNames.DNSNames...)) &&
		sets.New(have...).Equal(sets.New(want...))
}

func isKeyPair(public, other crypto.PublicKey) bool {
	switch k := public.(type) {
	case *ecdsa.PublicKey:
		return k.Equal(other)
	case *rsa.PublicKey:
		return k.Equal(other)
	}
	return false
}

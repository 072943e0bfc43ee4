// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// clockSkew is how long before its creation the validity of a certificate begins, so that machines
// whose clocks are behind accept a new certificate.
const clockSkew = time.Hour

// Pair is a certificate with its private key, and the certificate of the CA that signed it, all in
// PEM.
type Pair struct {
	CA, Cert, Key []byte
}

// State is the content of the Secret.
type State struct {
	// Current is the pair that is served. Next, if not empty, is the pair that will be served
	// after Current. The CA of Next is in the caBundle while Current is still served.
	Current, Next Pair
	// Previous is the CA of the pair that was served before Current.
	Previous []byte
}

// The keys in the data of the Secret.
const (
	keyCert, keyKey, keyCA             = "tls.crt", "tls.key", "ca.crt"
	keyNextCert, keyNextKey, keyNextCA = "next.crt", "next.key", "next-ca.crt"
	keyPrevious                        = "previous-ca.crt"
)

func stateOf(data map[string][]byte) State {
	return State{
		Current:  Pair{data[keyCA], data[keyCert], data[keyKey]},
		Next:     Pair{data[keyNextCA], data[keyNextCert], data[keyNextKey]},
		Previous: data[keyPrevious],
	}
}

func (s State) data() map[string][]byte {
	return map[string][]byte{
		keyCA: s.Current.CA, keyCert: s.Current.Cert, keyKey: s.Current.Key,
		keyNextCA: s.Next.CA, keyNextCert: s.Next.Cert, keyNextKey: s.Next.Key,
		keyPrevious: s.Previous,
	}
}

// Bundle returns the CAs that the API server must trust.
func (s State) Bundle() []byte {
	return bytes.Join([][]byte{s.Previous, s.Current.CA, s.Next.CA}, nil)
}

// Step returns the state that must follow s at the time now, and whether that state differs from
// s. The renewal of a certificate begins when a third of its lifetime is left: first a new pair
// becomes the next pair, so that its CA is trusted. After the time that announcePeriod returns,
// the next pair becomes the current pair, which is served. A current pair that can't be served is
// replaced at once.
func Step(s State, hosts []string, now time.Time, lifetime time.Duration) (State, bool, error) {
	current, ok := s.Current.leaf(hosts, now)
	if !ok {
		next, err := s.Next, error(nil)
		if _, ok := next.leaf(hosts, now); !ok {
			next, err = newPair(hosts, now, lifetime)
		}
		return State{Current: next, Previous: s.Current.authority()}, true, err
	}
	next, ok := s.Next.leaf(hosts, now)
	switch {
	case ok && now.Sub(next.NotBefore.Add(clockSkew)) >= announcePeriod(lifetime):
		return State{Current: s.Next, Previous: s.Current.CA}, true, nil
	case !ok && current.NotAfter.Sub(now) < lifetime/3:
		pair, err := newPair(hosts, now, lifetime)
		return State{Current: s.Current, Next: pair, Previous: s.Previous}, true, err
	}
	return s, false, nil
}

// announcePeriod returns how long a CA is trusted before its certificate is served. This time is
// longer than the interval at which a replica calls Sync, which checkInterval returns.
func announcePeriod(lifetime time.Duration) time.Duration {
	return min(max(lifetime/10, time.Second), 10*time.Minute)
}

func checkInterval(lifetime time.Duration) time.Duration {
	return min(announcePeriod(lifetime)/5, 30*time.Second)
}

// authority returns the CA of a pair, or nil if the CA does not contain a certificate, because the
// API server rejects a caBundle with anything but certificates.
func (p Pair) authority() []byte {
	if !x509.NewCertPool().AppendCertsFromPEM(p.CA) {
		return nil
	}
	return p.CA
}

// leaf returns the certificate of a pair, and whether the certificate can be served. To be served,
// it must match the key of the pair, be signed by the CA of the pair, be valid at the time now,
// and have the names of all hosts.
func (p Pair) leaf(hosts []string, now time.Time) (*x509.Certificate, bool) {
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, false
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(p.CA) {
		return nil, false
	}
	for _, host := range hosts {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now}); err != nil {
			return nil, false
		}
	}
	return pair.Leaf, true
}

// newPair returns a new certificate for the hosts, with its key and a new CA. Both certificates
// expire when the lifetime has passed. The key of the CA is discarded, so the CA signs nothing
// else.
func newPair(hosts []string, now time.Time, lifetime time.Duration) (Pair, error) {
	from, to := now.Add(-clockSkew), now.Add(lifetime)
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	ca := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "tenancy-webhook-ca"}, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return Pair{}, err
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return Pair{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	leaf := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "tenancy-webhook"}, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return Pair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return Pair{CA: block("CERTIFICATE", caDER), Cert: block("CERTIFICATE", der), Key: block("PRIVATE KEY", keyDER)}, nil
}

// serial returns a random serial number.
func serial() *big.Int {
	bits := make([]byte, 16)
	_, _ = rand.Read(bits) // rand.Read never returns an error
	return new(big.Int).SetBytes(bits)
}

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

// clockSkew is how long before its creation a certificate is already valid, because the clocks of
// machines differ.
const clockSkew = time.Hour

// Pair is a certificate with its key, and the CA that signed it.
type Pair struct {
	CA, Cert, Key []byte
}

// State is the content of the Secret.
type State struct {
	// Current is the served pair. Next is the pair that will be served; its CA is already trusted.
	Current, Next Pair
	// Previous is the CA of the pair that was served before.
	Previous []byte
}

// The keys of the Secret.
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

// Step returns the state that follows s at the time now, and whether it differs from s. A
// certificate is renewed when a third of its lifetime is left: first the next CA becomes trusted,
// and announcePeriod later its certificate is served. An unusable certificate is replaced at once.
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

// announcePeriod returns how long a CA is trusted before its certificate is served. It is longer
// than the interval at which a replica calls Sync, which checkInterval returns.
func announcePeriod(lifetime time.Duration) time.Duration {
	return min(max(lifetime/10, time.Second), 10*time.Minute)
}

func checkInterval(lifetime time.Duration) time.Duration {
	return min(announcePeriod(lifetime)/5, 30*time.Second)
}

// authority returns the CA of a pair, or nil if it is not valid, because the API server rejects a
// caBundle with anything but certificates.
func (p Pair) authority() []byte {
	if !x509.NewCertPool().AppendCertsFromPEM(p.CA) {
		return nil
	}
	return p.CA
}

// leaf returns the certificate of a pair, and whether it can be served: it matches its key, is
// valid at the time now, and has the names of all hosts.
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

// newPair makes a certificate, and a CA that signs only this certificate.
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

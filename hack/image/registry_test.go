// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// certificate returns a certificate that names the hosts and signs itself, and a pool that trusts it.
func certificate(t *testing.T, hosts ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// TestRegistryBehindProxy pulls an image by its name, through the proxy: manifest, config and
// layers are there, byte for byte. An image that no archive holds is not found.
func TestRegistryBehindProxy(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "images.tar")
	if err := os.WriteFile(archive, packed(t, writeDocker, server(t, "amd64")), 0o600); err != nil {
		t.Fatal(err)
	}
	handler := registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(t.TempDir())),
		registry.Logger(log.New(io.Discard, "", 0)))
	if err := pushArchive(handler, archive); err != nil {
		t.Fatal(err)
	}
	pair, pool := certificate(t, "registry.k8s.io")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- serveTunnels(listener, pair, handler) }()
	t.Cleanup(func() {
		_ = listener.Close()
		<-served
	})
	client := &http.Client{Transport: &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: listener.Addr().String()}),
		TLSClientConfig:   &tls.Config{RootCAs: pool},
		DisableKeepAlives: true,
	}}
	get := func(target string) (int, []byte) {
		t.Helper()
		answer, err := client.Get("https://registry.k8s.io/v2/kube-apiserver/" + target)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, body
	}

	code, raw := get("manifests/v1.37.1_granular")
	var manifest v1.Manifest
	if err := json.Unmarshal(raw, &manifest); code != http.StatusOK || err != nil {
		t.Fatalf("manifest: %d %v", code, err)
	}
	if len(manifest.Layers) != 1 {
		t.Errorf("%d layers, want 1", len(manifest.Layers))
	}
	for _, blob := range append(manifest.Layers, manifest.Config) {
		code, data := get("blobs/" + blob.Digest.String())
		if got, _, err := v1.SHA256(bytes.NewReader(data)); code != http.StatusOK || err != nil || got != blob.Digest {
			t.Errorf("blob %s: %d, digest %s, %v", blob.Digest, code, got, err)
		}
	}
	if code, _ := get("manifests/v1.37.1"); code != http.StatusNotFound {
		t.Errorf("a tag that no archive holds: %d, want 404", code)
	}
	if answer, err := client.Get("http://registry.k8s.io/v2/"); err != nil || answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("without a tunnel: %v %v, want 405", answer, err)
	}
	if _, err := client.Get("https://docker.io/v2/"); err == nil {
		t.Error("a host that the certificate does not name was trusted")
	}
}

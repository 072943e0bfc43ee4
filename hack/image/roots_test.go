// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/x509"
	"testing"
)

// TestRoots checks that Go reads the certificates of the image, that there are many, and that they are always
// in the same order.
func TestRoots(t *testing.T) {
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := writeRoots(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two files differ")
	}
	if count := bytes.Count(first.Bytes(), []byte("BEGIN CERTIFICATE")); count < 100 {
		t.Errorf("only %d certificates", count)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(first.Bytes()) {
		t.Error("Go reads no certificate")
	}
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// key signs and verifies with Ed25519. private is empty if it only verifies.
type key struct {
	private ed25519.PrivateKey
	public  ed25519.PublicKey
}

var errSignature = errors.New("the signature is not of this key, or the signed text was changed")

// Sign implements dsse.Signer.
func (k key) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(k.private, data), nil
}

// Verify implements dsse.Verifier.
func (k key) Verify(_ context.Context, data, signature []byte) error {
	if !ed25519.Verify(k.public, data, signature) {
		return errSignature
	}
	return nil
}

// KeyID returns the digest of the public key.
func (k key) KeyID() (string, error) { return dsse.SHA256KeyID(k.public) }

// Public implements dsse.Verifier.
func (k key) Public() crypto.PublicKey { return k.public }

func readBlock(path, kind string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("%s: no PEM block %q", path, kind)
	}
	return block.Bytes, nil
}

func readPrivateKey(path string) (key, error) {
	der, err := readBlock(path, "PRIVATE KEY")
	if err != nil {
		return key{}, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return key{}, fmt.Errorf("%s: %w", path, err)
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return key{}, fmt.Errorf("%s: the key is not an Ed25519 key", path)
	}
	return key{private, private.Public().(ed25519.PublicKey)}, nil
}

func readPublicKey(path string) (key, error) {
	der, err := readBlock(path, "PUBLIC KEY")
	if err != nil {
		return key{}, err
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return key{}, fmt.Errorf("%s: %w", path, err)
	}
	public, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return key{}, fmt.Errorf("%s: the key is not an Ed25519 key", path)
	}
	return key{public: public}, nil
}

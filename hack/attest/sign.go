// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// The files of a release that are about its other files.
const (
	sumsFile       = "SHA256SUMS"
	signatureFile  = "SHA256SUMS.sig"
	provenanceFile = "provenance.intoto.jsonl"
)

// sum is a line of SHA256SUMS.
type sum struct{ name, sha256 string }

// readSums reads SHA256SUMS, as sha256sum writes it.
func readSums(text []byte) ([]sum, error) {
	var files []sum
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		digest, name, found := strings.Cut(lines.Text(), "  ")
		if !found || len(digest) != hex.EncodedLen(sha256.Size) || name == "" || name != filepath.Base(name) {
			return nil, fmt.Errorf("%s: line %d is not of sha256sum", sumsFile, len(files)+1)
		}
		files = append(files, sum{name, digest})
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: names no file", sumsFile)
	}
	return files, lines.Err()
}

// sign writes the two signatures into a folder.
func sign(ctx context.Context, dir string, o origin, signer key) error {
	text, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	files, err := readSums(text)
	if err != nil {
		return err
	}
	payload, err := statement(files, o)
	if err != nil {
		return err
	}
	envelopes, err := dsse.NewEnvelopeSigner(signer)
	if err != nil {
		return err
	}
	envelope, err := envelopes.SignPayload(ctx, payloadType, payload)
	if err != nil {
		return err
	}
	line, err := json.Marshal(envelope)
	if err != nil {
		return err
	}
	signature, err := signer.Sign(ctx, text)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, provenanceFile), append(line, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, signatureFile), signature, 0o644),
	)
}

// verify returns how many files of a folder are as the holder of the key signed them for a version, or what is wrong with the
// folder. An older release is signed as well as the one that was asked for.
func verify(ctx context.Context, dir, version string, public key) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return 0, err
	}
	signature, err := os.ReadFile(filepath.Join(dir, signatureFile))
	if err != nil {
		return 0, err
	}
	if err := public.Verify(ctx, text, signature); err != nil {
		return 0, fmt.Errorf("%s: %w", signatureFile, err)
	}
	files, err := readSums(text)
	if err != nil {
		return 0, err
	}
	if err := verifyProvenance(ctx, dir, version, public, files); err != nil {
		return 0, fmt.Errorf("%s: %w", provenanceFile, err)
	}
	return len(files), verifyFiles(dir, files)
}

// verifyProvenance returns an error unless the provenance is signed, and about exactly these files and this version.
func verifyProvenance(ctx context.Context, dir, version string, public key, files []sum) error {
	line, err := os.ReadFile(filepath.Join(dir, provenanceFile))
	if err != nil {
		return err
	}
	var envelope dsse.Envelope
	if err := json.Unmarshal(line, &envelope); err != nil {
		return err
	}
	if envelope.PayloadType != payloadType {
		return fmt.Errorf("payloadType: is %q and not %s", envelope.PayloadType, payloadType)
	}
	verifier, err := dsse.NewEnvelopeVerifier(public)
	if err != nil {
		return err
	}
	_, payload, err := verifier.VerifyAndDecode(ctx, &envelope)
	if err != nil {
		return errors.Join(errSignature, err)
	}
	about, signed, err := readStatement(payload)
	if err != nil {
		return err
	}
	if !slices.Equal(about, files) {
		return fmt.Errorf("is about other files than %s", sumsFile)
	}
	if signed != version {
		return fmt.Errorf("is of version %q and not %s", signed, version)
	}
	return nil
}

// verifyFiles returns an error if a file is missing, was changed, or is not listed.
func verifyFiles(dir string, files []sum) error {
	listed := map[string]bool{sumsFile: true, signatureFile: true, provenanceFile: true}
	var wrong []error
	for _, f := range files {
		listed[f.name] = true
		digest, err := digestFile(filepath.Join(dir, f.name))
		if err != nil {
			wrong = append(wrong, err)
		} else if digest != f.sha256 {
			wrong = append(wrong, fmt.Errorf("%s: was changed", f.name))
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !listed[entry.Name()] {
			wrong = append(wrong, fmt.Errorf("%s: is not in %s", entry.Name(), sumsFile))
		}
	}
	return errors.Join(wrong...)
}

func digestFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

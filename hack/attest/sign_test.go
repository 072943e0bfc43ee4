// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

const zero = "0000000000000000000000000000000000000000000000000000000000000000"

// newKey writes a new pair of keys, and returns the paths of the private and the public one.
func newKey(t *testing.T) (string, string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	privatePath := write("key.pem", "PRIVATE KEY", secret, err)
	open, err := x509.MarshalPKIXPublicKey(public)
	return privatePath, write("key.pub", "PUBLIC KEY", open, err)
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// release makes a folder with two files and their sums, and signs it.
func release(t *testing.T, key string) string {
	t.Helper()
	dir := t.TempDir()
	signed(t, dir, key, "v0.1.0", "a.tar", "b.tar")
	return dir
}

// signed writes files, their sums and signatures into a folder.
func signed(t *testing.T, dir, key, version string, names ...string) {
	t.Helper()
	var sums strings.Builder
	for _, name := range names {
		write(t, dir, name, "content of "+name)
		digest, err := digestFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sums.WriteString(digest + "  " + name + "\n")
	}
	write(t, dir, sumsFile, sums.String())
	run(t, true, "sign", "--key", key, "--builder", "https://example.com/builder", "--version", version,
		"--commit", strings.Repeat("a", 40), "--repository", "git+https://example.com/kube-granular",
		"--material", "go.sum="+zero, "--parameter", "architectures=amd64", dir)
}

// run runs the command, which must succeed or fail, and returns its output or error.
func run(t *testing.T, succeeds bool, args ...string) string {
	t.Helper()
	cmd := newCommand()
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	err := cmd.ExecuteContext(t.Context())
	if (err == nil) != succeeds {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	if err != nil {
		return err.Error()
	}
	return out.String()
}

// TestSign signs a release with a throwaway key, and verifies it. Any change of the folder is found.
func TestSign(t *testing.T) {
	private, public := newKey(t)
	dir := release(t, private)
	if got := run(t, true, "verify", "--key", public, "--version", "v0.1.0", dir); got != "2 files are as they were signed\n" {
		t.Error(got)
	}
	_, other := newKey(t)
	for name, tc := range map[string]struct {
		change  func(dir string)
		key     string
		want    string
		version string
	}{
		"another version was asked for": {key: public, want: provenanceFile + `: is of version "v0.1.0" and not v0.1.1`, version: "v0.1.1"},
		"another key":                   {key: other, want: "SHA256SUMS.sig: the signature is not of this key"},
		"a file was changed":            {change: func(dir string) { write(t, dir, "a.tar", "other") }, key: public, want: "a.tar: was changed"},
		"a file is missing":             {change: func(dir string) { _ = os.Remove(filepath.Join(dir, "b.tar")) }, key: public, want: "b.tar"},
		"a file was added":              {change: func(dir string) { write(t, dir, "c.tar", "") }, key: public, want: "c.tar: is not in SHA256SUMS"},
		"the sums were changed":         {change: func(dir string) { write(t, dir, sumsFile, zero+"  a.tar\n") }, key: public, want: "SHA256SUMS.sig: the signature"},
		"no provenance":                 {change: func(dir string) { _ = os.Remove(filepath.Join(dir, provenanceFile)) }, key: public, want: provenanceFile},
		"the provenance was changed": {change: func(dir string) {
			changeEnvelope(t, dir, func(e *dsse.Envelope) { e.Payload = "e30=" })
		}, key: public, want: provenanceFile + ": the signature"},
		"the provenance is of another type": {change: func(dir string) {
			changeEnvelope(t, dir, func(e *dsse.Envelope) { e.PayloadType = "text/plain" })
		}, key: public, want: "payloadType"},
		"the provenance is of another release": {change: func(dir string) {
			second := t.TempDir()
			write(t, second, sumsFile, zero+"  a.tar\n")
			run(t, true, "sign", "--key", private, "--builder", "https://example.com", "--version", "v0.1.0", second)
			text, err := os.ReadFile(filepath.Join(second, provenanceFile))
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, provenanceFile, string(text))
		}, key: public, want: "is about other files"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := release(t, private)
			if tc.change != nil {
				tc.change(dir)
			}
			if got := run(t, false, "verify", "--key", tc.key, "--version", cmp.Or(tc.version, "v0.1.0"), dir); !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %q", got, tc.want)
			}
		})
	}
}

func changeEnvelope(t *testing.T, dir string, change func(*dsse.Envelope)) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, provenanceFile))
	if err != nil {
		t.Fatal(err)
	}
	var envelope dsse.Envelope
	if err := json.Unmarshal(text, &envelope); err != nil {
		t.Fatal(err)
	}
	change(&envelope)
	if text, err = json.Marshal(envelope); err != nil {
		t.Fatal(err)
	}
	write(t, dir, provenanceFile, string(text))
}

// TestOpenSSL verifies the signature of SHA256SUMS with OpenSSL, and signs with a key that OpenSSL made.
func TestOpenSSL(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("no openssl")
	}
	keys := t.TempDir()
	openssl := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "openssl", args...)
		cmd.Dir = keys
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("openssl %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	openssl("genpkey", "-algorithm", "ed25519", "-out", "key.pem")
	openssl("pkey", "-in", "key.pem", "-pubout", "-out", "key.pub")
	dir := release(t, filepath.Join(keys, "key.pem"))
	run(t, true, "verify", "--key", filepath.Join(keys, "key.pub"), "--version", "v0.1.0", dir)
	got := openssl("pkeyutl", "-verify", "-pubin", "-inkey", "key.pub", "-rawin",
		"-in", filepath.Join(dir, sumsFile), "-sigfile", filepath.Join(dir, signatureFile))
	if !strings.Contains(got, "Signature Verified Successfully") {
		t.Error(got)
	}
}

// TestPage runs the commands with which docs/install.md verifies a release, on releases that somebody between changed.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, commands, _ := strings.Cut(string(page), "## The files of a release")
	_, commands, _ = strings.Cut(commands, "```sh\n")
	commands, _, _ = strings.Cut(commands, "```")
	found := regexp.MustCompile(`(?s)version=(\S+) files="(\S+) (\S+)"`).FindStringSubmatch(commands)
	if found == nil {
		t.Fatalf("the commands do not begin with the version and two files:\n%s", commands)
	}
	sources, image := "kube-granular-"+found[1]+".tar.gz", found[2]
	private, public := newKey(t)
	publicKey, err := os.ReadFile(public)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(dir string)
		good   bool
	}{
		"as it was signed":       {change: func(string) {}, good: true},
		"a file was changed":     {change: func(dir string) { write(t, dir, image, "other") }},
		"a file is missing":      {change: func(dir string) { _ = os.Remove(filepath.Join(dir, image)) }},
		"the signature is wrong": {change: func(dir string) { write(t, dir, signatureFile, strings.Repeat("x", 64)) }},
		"the sums were changed": {change: func(dir string) {
			write(t, dir, image, "other")
			digest, err := digestFile(filepath.Join(dir, image))
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, sumsFile, digest+"  "+image+"\n")
		}},
		"an older release, with a file of the new name": {change: func(dir string) {
			signed(t, dir, private, "v0.0.9", "kube-granular-v0.0.9.tar.gz", image)
			write(t, dir, found[3], "of nobody")
		}},
		"a file that is not listed": {change: func(dir string) {
			signed(t, dir, private, found[1], sources, image)
			write(t, dir, found[3], "of nobody")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "release")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, parent, "release.pub", string(publicKey))
			signed(t, dir, private, found[1], sources, image, found[3])
			tc.change(dir)
			cmd := exec.CommandContext(t.Context(), "sh", "-c", commands)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if (err == nil) != tc.good || strings.HasSuffix(string(out), "verified\n") != tc.good {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestVersionParameter checks that no parameter overrides the version, also one in the value of another.
func TestVersionParameter(t *testing.T) {
	private, _ := newKey(t)
	got := run(t, false, "sign", "--key", private, "--builder", "https://example.com", "--version", "v0.1.0",
		"--parameter", "a=b,version=v9", t.TempDir())
	if !strings.Contains(got, "version has a flag of its own") {
		t.Error(got)
	}
}

// TestStatement checks the fields of a statement, and that the same input gives the same bytes.
func TestStatement(t *testing.T) {
	o := origin{builder: "https://example.com/b", version: "v0.1.0", commit: strings.Repeat("a", 40),
		repository: "git+https://example.com/r", materials: map[string]string{"go.sum": zero},
		parameters: map[string]string{"platforms": "linux/amd64"}}
	files := []sum{{"a.tar", zero}}
	text, err := statement(files, o)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"a.tar","digest":{"sha256":"` + zero + `"}}],` +
		`"predicateType":"https://slsa.dev/provenance/v1","predicate":{"buildDefinition":{"buildType":"https://kube-granular.dev/release/v1",` +
		`"externalParameters":{"platforms":"linux/amd64","version":"v0.1.0"},"resolvedDependencies":[{"digest":{"gitCommit":"` +
		strings.Repeat("a", 40) + `"},"name":"repository","uri":"git+https://example.com/r"},{"digest":{"sha256":"` + zero + `"},"name":"go.sum"}]},` +
		`"runDetails":{"builder":{"id":"https://example.com/b"}}}}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	for range 20 {
		if again, err := statement(files, o); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("the same input gave %s (%v)", again, err)
		}
	}
	for name, bad := range map[string]origin{
		"no builder":     {version: "v0.1.0"},
		"a short commit": {version: "v0.1.0", builder: "b", commit: "abc"},
	} {
		if _, err := statement(files, bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

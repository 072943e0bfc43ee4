// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/test/integration/harness"
)

// TestEncryption checks that an encryption configuration that names the protected attributes
// encrypts them in etcd, and that their key can be rotated, as for every other resource.
//
// Attack: reading the attributes in storage, with encryption at rest
// Answer: nothing of them can be read
func TestEncryption(t *testing.T) {
	endpoint, client := storage(t)
	stored := func(name string) string {
		t.Helper()
		got, err := client.Get(t.Context(), "/registry/kube-granular/authority/clusterprotectedattributes/"+name)
		if err != nil || len(got.Kvs) != 1 {
			t.Fatalf("%s: %d values, error %v", name, len(got.Kvs), err)
		}
		return string(got.Kvs[0].Value)
	}
	run := func(keys ...string) (attributes interface {
		touch(name string)
		read(name string)
	}, stop func()) {
		args := []string{"--etcd-servers", endpoint, "--feature-gates", gateOn}
		if len(keys) > 0 {
			args = append(args, "--", "--encryption-provider-config="+configuration(t, keys...))
		}
		c, stop := start(t, args...)
		return encrypted{t, c.Kubeconfig("admin"),
			func(stdin string, args ...string) string { return harness.MustKubectl(t, c, stdin, args...) }}, stop
	}

	plain, stop := run()
	plain.touch("before")
	if text := stored("before"); !strings.HasPrefix(text, "{") || !strings.Contains(text, "example.com/tier") {
		t.Errorf("without encryption: %.100s", text)
	}
	stop()

	first, stop := run("one")
	first.read("before")
	first.touch("a")
	if text := stored("a"); !strings.HasPrefix(text, "k8s:enc:aescbc:v1:one:") || strings.Contains(text, "example.com") {
		t.Errorf("with one key: %.60q", text)
	}
	first.touch("before")
	if text := stored("before"); !strings.HasPrefix(text, "k8s:enc:aescbc:v1:one:") {
		t.Errorf("written again: %.60q", text)
	}
	stop()

	second, stop := run("two", "one")
	second.read("a")
	if text := stored("a"); !strings.HasPrefix(text, "k8s:enc:aescbc:v1:one:") {
		t.Errorf("only read: %.60q", text)
	}
	for _, name := range []string{"a", "before"} {
		second.touch(name)
		if text := stored(name); !strings.HasPrefix(text, "k8s:enc:aescbc:v1:two:") {
			t.Errorf("after rotation %s: %.60q", name, text)
		}
	}
	stop()

	third, _ := run("two")
	third.read("a")
	third.read("before")

	// etcd holds our objects under no other prefix, especially not where a custom resource
	// would be stored.
	for prefix, want := range map[string]int64{"/registry/authority.kube-granular.dev": 0, "/registry/clusterprotectedattributes": 0, "/registry/kube-granular/authority/": 2} {
		got, err := client.Get(context.Background(), prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil || got.Count != want {
			t.Errorf("%s: %d keys, error %v", prefix, got.Count, err)
		}
	}
}

type encrypted struct {
	t    *testing.T
	file string
	must func(stdin string, args ...string) string
}

// touch creates an attribute, or updates it if it exists.
func (e encrypted) touch(name string) {
	e.t.Helper()
	a := fmt.Sprintf(`{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"ClusterProtectedAttribute","metadata":{"name":%q,"annotations":{"written":%q}},"spec":{"attributeKind":"Label","attributeName":"example.com/tier"}}`, name, metav1.Now().String()+e.file)
	e.must(a, "apply", "--server-side", "--force-conflicts", "-f", "-")
}

func (e encrypted) read(name string) {
	e.t.Helper()
	if out := e.must("", "get", "cpattr", name, "-o", "jsonpath={.spec.attributeName}"); out != "example.com/tier" {
		e.t.Errorf("%s: %s", name, out)
	}
}

// configuration writes an encryption configuration with the named keys and returns its path.
// The first key encrypts.
func configuration(t *testing.T, names ...string) string {
	t.Helper()
	var keys []string
	for _, name := range names {
		secret := base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%-32s", name)))
		keys = append(keys, fmt.Sprintf("{name: %s, secret: %s}", name, secret))
	}
	text := fmt.Sprintf(`
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: ["protectedattributes.authority.kube-granular.dev", "clusterprotectedattributes.authority.kube-granular.dev"]
  providers:
  - aescbc: {keys: [%s]}
  - identity: {}
`, strings.Join(keys, ", "))
	path := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

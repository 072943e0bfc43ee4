// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/internal/names"
)

// keyAndRequest returns a private key and a certificate signing request for it, both as PEM.
func keyAndRequest(t *testing.T, name string, groups ...string) (key, request []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: groups}}, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// issuer is a fake provider of OpenID Connect.
type issuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	coordinates, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	i.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			answer = map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys",
				"id_token_signing_alg_values_supported": []string{"ES256"}}
		case "/keys":
			answer = map[string]any{"keys": []any{map[string]any{
				"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "k", "x": encode(coordinates[1:33]), "y": encode(coordinates[33:]),
			}}}
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

// token returns an ID token for a user with groups.
func (i *issuer) token(t *testing.T, user string, groups ...string) string {
	t.Helper()
	encode := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := encode(map[string]any{"alg": "ES256", "kid": "k", "typ": "JWT"}) + "." + encode(map[string]any{
		"iss": i.URL, "aud": "cluster", "sub": user, "groups": groups, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// authentication returns an authentication configuration that adds prefix to the groups in tokens
// and, if rule is not empty, validates users by this rule.
func (i *issuer) authentication(prefix, rule string) []byte {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw})
	b := bytes.Buffer{}
	fmt.Fprintf(&b, "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n- issuer:\n    url: %s\n    audiences: [cluster]\n    certificateAuthority: |\n      %s\n", i.URL, strings.ReplaceAll(strings.TrimSpace(string(ca)), "\n", "\n      "))
	fmt.Fprintf(&b, "  claimMappings:\n    username: {claim: sub, prefix: ''}\n    groups: {claim: groups, prefix: %q}\n", prefix)
	if rule != "" {
		fmt.Fprintf(&b, "  userValidationRules:\n  - expression: \"%s\"\n    message: reserved\n", rule)
	}
	return b.Bytes()
}

// reservedRule is the rule for user validation that docs/tenancy.md recommends.
const reservedRule = "!user.username.startsWith('lnamespace:') && !user.groups.exists(g, g.startsWith('lnamespace:'))"

// TestNobodyCarriesTheGroupIn tries to be a member of a sudoer group without impersonation.
//
// Attack: the group of a tenant's sudoers comes in a token of an OpenID Connect issuer
// Answer: 401 by a rule of the authentication configuration, 403 with a prefix for groups; **without either, the
// caller has sudo**
//
// Attack: a client certificate with the group of a tenant's sudoers is requested
// Answer: 403 when it is requested, and when it is approved; **without the webhook, the caller has sudo**
// Held by: TestWebhooks
//
// Attack: the user that exists for somebody's sudo comes in a token or in a request for a certificate
// Answer: 401 by the same rule; 403
// Held by: TestRequestsForReservedNames
func TestNobodyCarriesTheGroupIn(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "authentication.yaml")
	configure := func(prefix, rule string) {
		t.Helper()
		// The file is replaced by a rename, because the server rereads it at any change and must not
		// read a part of it.
		if err := os.WriteFile(file+".new", i.authentication(prefix, rule), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	configure("", "")
	c := newCluster(t, "default", "--feature-gates", "GranularAuthorization=false", "--", "--authentication-config="+file)
	k := c.run(t)
	lns := c.make(t, tenant("crew"))
	group := names.SudoGroup(lns.Name)
	c.allowed(t, "x", []string{group}, "create", "roles", lns.Name, "")
	// attempt creates a role, which only sudo may do, and returns the error.
	attempt := func(config *rest.Config) error {
		api, err := client.New(config, client.Options{Scheme: c.client.Scheme(), Mapper: c.client.RESTMapper()})
		if err != nil {
			t.Fatal(err)
		}
		return api.Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: lns.Name, GenerateName: "made-by-attack-"}})
	}
	bearer := func(groups ...string) *rest.Config {
		config := rest.AnonymousClientConfig(c.admin)
		config.BearerToken = i.token(t, "mallory", groups...)
		return config
	}
	succeeds := func(what string, config *rest.Config) {
		t.Helper()
		wait(t, what, func() error { return attempt(config) })
	}
	forbids := func(what string, config *rest.Config) {
		t.Helper()
		wait(t, what, func() error { return wantForbidden(attempt(config)) })
	}
	rejects := func(what string, config *rest.Config) {
		t.Helper()
		wait(t, what, func() error {
			if err := attempt(config); !apierrors.IsUnauthorized(err) {
				return fmt.Errorf("not unauthorized: %v", err)
			}
			return nil
		})
	}
	t.Run("token", func(t *testing.T) {
		succeeds("the attack, where nothing stops it", bearer(group))
		forbids("without the group", bearer("ops"))
		configure("", reservedRule)
		rejects("the rule", bearer("ops", group))
		reserved := rest.AnonymousClientConfig(c.admin)
		reserved.BearerToken = i.token(t, names.SudoerUser(lns.Name, "ada"), "ops")
		rejects("the rule, for a user name", reserved)
		forbids("the rule lets others in", bearer("ops"))
		configure("oidc:", "")
		forbids("the prefix", bearer(group))
		if err := attempt(bearer(group)); err == nil || !strings.Contains(err.Error(), "mallory") {
			t.Errorf("the refused user is not mallory: %v", err)
		}
	})
	// certificate requests a client certificate and approves it as an administrator. It returns a
	// client configuration with the certificate.
	certificate := func(name string, groups ...string) (*rest.Config, error) {
		key, text := keyAndRequest(t, "mallory", groups...)
		request := c.request(t, name, "kubernetes.io/kube-apiserver-client")
		request.Spec.Request = text
		if err := c.client.Create(t.Context(), request); err != nil {
			return nil, err
		}
		signed := make(chan error, 1)
		go func() { signed <- c.sign(t) }()
		if out, err := c.kubectl("admin", "certificate", "approve", name); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		if err := <-signed; err != nil {
			return nil, err
		}
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(request), request); err != nil {
			return nil, err
		}
		config := rest.AnonymousClientConfig(c.admin)
		config.CertData, config.KeyData = request.Status.Certificate, key
		return config, nil
	}
	t.Run("certificate", func(t *testing.T) {
		config, err := certificate("unguarded", "ops", group)
		if err != nil {
			t.Fatal(err)
		}
		succeeds("the attack, where nothing stops it", config)
		address := freeAddress(t)
		c.install(t, address)
		if err := k.stop(); err != nil {
			t.Fatal(err)
		}
		c.withWebhooks(t, address)
		if _, err := certificate("guarded", "ops", group); err == nil || !strings.Contains(err.Error(), "no certificate may have one") {
			t.Errorf("the request is not refused: %v", err)
		}
		config, err = certificate("honest", "ops")
		if err != nil {
			t.Fatal(err)
		}
		forbids("a certificate without the group", config)
	})
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kube-granular.dev/pkg/localcluster/pki"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Request"}]}`

// server is one of the servers that are compared.
type server struct {
	name, url, auditLog, storage string
	// questions is what the server asks about requests, or nil.
	questions *questions
	// more counts the refused requests about which the server asked one more question.
	more int
	// trusted says who calls by the headers of a proxy. plain presents no certificate.
	trusted, plain *http.Client
}

// keys are the files and the certificates that all servers share.
type keys struct {
	files     pki.Files
	authority *pki.Authority
	pool      *x509.CertPool
	// front has the CA of the proxy's client certificate. No other client has a certificate of it.
	front pki.Files
	proxy tls.Certificate
	dir   string
	// asking lets each server authorize by a webhook of its own.
	asking bool
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	k := &keys{dir: t.TempDir(), pool: x509.NewCertPool()}
	var err error
	if k.authority, k.files, err = pki.Ensure(filepath.Join(k.dir, "pki")); err != nil {
		t.Fatal(err)
	}
	front, files, err := pki.Ensure(filepath.Join(k.dir, "front"))
	if err != nil {
		t.Fatal(err)
	}
	k.front = files
	k.pool.AppendCertsFromPEM(k.authority.CertificatePEM())
	cert, key, err := front.Client("front-proxy")
	if err != nil {
		t.Fatal(err)
	}
	if k.proxy, err = tls.X509KeyPair(cert, key); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(k.dir, "audit.yaml"), []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// administrator returns the configuration of an administrator's client.
func (k *keys) administrator(t *testing.T, url string) *rest.Config {
	t.Helper()
	cert, key, err := k.authority.Client("parity-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	return &rest.Config{Host: url, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAFile: k.files.CA, CertData: cert, KeyData: key}}
}

// kubeconfig writes a file for programs that call as a user, and returns its path.
func (k *keys) kubeconfig(t *testing.T, url string, user *clientcmdapi.AuthInfo) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: url, CertificateAuthority: k.files.CA}
	config.AuthInfos["u"] = user
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs a program on a storage of its own until the test ends.
func (k *keys) start(t *testing.T, name, program string, flags ...string) *server {
	t.Helper()
	s := &server{name: name, auditLog: filepath.Join(k.dir, name+".audit"), storage: etcd.Start(t)}
	if k.asking {
		s.questions = newQuestions(t)
		flags = append(flags, "--authorization-config="+s.questions.config)
	}
	transport := func(certificates ...tls.Certificate) *http.Client {
		return &http.Client{
			Transport:     &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: k.pool, Certificates: certificates}},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	s.trusted, s.plain = transport(k.proxy), transport()
	// With the authorizer AlwaysAllow, a server lets nobody in who does not say who it is.
	asked := call{method: http.MethodGet, header: http.Header{}, user: []string{"parity", "system:masters"}}
	harness.RunAPIServer(t, program, s.storage, k.files, func(url string) (bool, error) {
		s.url = url
		// A server may be ready before it has made its namespaces, in which controllers write at once.
		for _, path := range []string{"/readyz", "/api/v1/namespaces/kube-node-lease", "/api/v1/namespaces/default"} {
			if a, err := s.send(t.Context(), asked, path, nil, nil); err != nil || a.code != http.StatusOK {
				return false, nil
			}
		}
		return true, nil
	}, append([]string{
		"--requestheader-client-ca-file=" + k.front.CA, "--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--allow-privileged",
		"--audit-policy-file=" + filepath.Join(k.dir, "audit.yaml"), "--audit-log-path=" + s.auditLog, "--audit-log-mode=blocking-strict",
		"--audit-log-maxsize=100000", // megabytes: otherwise the log goes on in another file
	}, flags...)...)
	return s
}

// program returns the path of a program in bin, and whether it is there.
func program(t *testing.T, name string) (string, bool) {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "bin", name)
	_, err = os.Stat(path)
	return path, err == nil
}

// gates are the feature gates of the project.
const gates = "GranularAuthorization=true,ProtectedAttributes=true,SelectedAuthority=true,AuthorityDelegation=true," +
	"FieldPermissions=true,MetadataReads=true"

// formats is upstream's gate that adds CBOR to the formats of bodies.
const formats = "CBORServingAndStorage=true"

// startAll starts the servers that are compared, with flags in addition. The leader is upstream's server, or, where it was
// not built, ours with all gates off.
func (k *keys) startAll(t *testing.T, flags ...string) []*server {
	t.Helper()
	ours, built := program(t, "kube-apiserver")
	if !built {
		t.Fatal("bin/kube-apiserver is missing: run `make bin/kube-apiserver`")
	}
	all := []*server{}
	if theirs, built := program(t, "kube-apiserver-unpatched"); built {
		all = append(all, k.start(t, "unpatched", theirs, append(flags, "--feature-gates="+formats)...))
	} else {
		t.Log("bin/kube-apiserver-unpatched is missing, so our server with its gates off leads")
	}
	return append(all,
		k.start(t, "gates-off", ours, append(flags, "--feature-gates="+formats)...),
		k.start(t, "gates-on", ours, append(flags, "--feature-gates="+formats+","+gates)...))
}

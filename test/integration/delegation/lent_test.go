// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	discoverycache "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityclient "kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/pkg/cli/lend"
	"kube-granular.dev/pkg/localcluster/pki"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// lent is a kubeconfig that `kubectl granular lend` would make, and how to end it.
type lent struct {
	*lend.Loan
	lender *lend.Lender
	// file is the kubeconfig, which is all that a client gets.
	file string
}

// lendRole lends rules in a namespace, for an hour.
func lendRole(t *testing.T, namespace, rules string) *lent {
	t.Helper()
	config := harness.Config(t, on, "admin")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := authorityclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("lent-%d", unique.Add(1))
	apply(t, rbacPath+"namespaces/"+namespace+"/roles", fmt.Sprintf(`{"metadata":{"name":%q},"rules":[%s]}`, name, rules))
	out := &lent{lender: &lend.Lender{Client: client, Authority: authority.AuthorityV1alpha1(), Config: config, Now: time.Now}, file: filepath.Join(t.TempDir(), "kubeconfig")}
	out.Loan, err = out.lender.Make(t.Context(), &lend.Terms{
		Role: &v1alpha1.DelegatedRole{Kind: "Role", Name: name}, Scope: v1alpha1.DelegationScope{Namespace: namespace},
		Account: lend.Account{Namespace: namespace, Name: name}, Until: time.Now().Add(time.Hour),
	}, func(loan *lend.Loan) error {
		content, err := lend.Kubeconfig(config, namespace, loan)
		if err != nil {
			return err
		}
		return os.WriteFile(out.file, content, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// config returns what a client makes of the kubeconfig.
func (l *lent) config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", l.file)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

// end deletes the delegation. The account and its token stay.
func (l *lent) end(t *testing.T) time.Time {
	t.Helper()
	request{as: "root", method: "DELETE", path: delegations + "/" + l.Delegation}.want(t, 200)
	return time.Now()
}

// kubectl returns a command of kubectl that knows only the kubeconfig.
func (l *lent) kubectl(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+l.file, "HOME="+filepath.Dir(l.file))
	return cmd
}

// endsAfter is how long a stream may go on after its delegation: the two seconds that are promised, and
// one for a busy machine.
const endsAfter = 3 * time.Second

// TestLentInformers checks the informers and watches of client-go with a lent kubeconfig: they work, end
// with the delegation, and can't begin again.
//
// Attack: an informer of a lent kubeconfig lists and watches again after the delegation was deleted
// Answer: the watch ends within two seconds, and the list is refused
func TestLentInformers(t *testing.T) {
	n, _ := stage(t, configMaps)
	l := lendRole(t, n, configMaps)
	client := kubernetes.NewForConfigOrDie(l.config(t))
	watched, err := client.CoreV1().ConfigMaps(n).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(n))
	informer := factory.Core().V1().ConfigMaps().Informer()
	var added, refused atomic.Int64
	if err := informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			refused.Add(1)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { added.Add(1) }}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("%v is not synced", kind)
		}
	}
	apply(t, maps(n), `{"metadata":{"name":"first"}}`)
	harness.Until(t, "the informer has the object", func() bool { return added.Load() == 1 })
	begin := l.end(t)
	for range watched.ResultChan() {
	}
	if took := time.Since(begin); took > endsAfter {
		t.Errorf("the watch ended %s after the delegation", took)
	}
	harness.Until(t, "the informer is refused", func() bool { return refused.Load() > 0 })
	apply(t, maps(n), `{"metadata":{"name":"second"}}`)
	seen := refused.Load()
	harness.Until(t, "the informer is refused again", func() bool { return refused.Load() > seen })
	if added.Load() != 1 {
		t.Errorf("the informer has %d objects", added.Load())
	}
	if _, err := client.CoreV1().ConfigMaps(n).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list: %v", err)
	}
}

// TestLentProgram checks a program that knows nothing but a kubeconfig, such as a server of the Model Context
// Protocol: it discovers kinds, lists and patches objects without any type of Go, and reads why it is refused.
func TestLentProgram(t *testing.T) {
	deployments := `{"apiGroups":["apps"],"resources":["deployments"],"verbs":["get","list","patch"]}`
	n, _ := stage(t, deployments)
	apply(t, "/apis/apps/v1/namespaces/"+n+"/deployments", deploymentOf("web"))
	l := lendRole(t, n, deployments)
	config := l.config(t)
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	mapping, err := restmapper.NewDeferredDiscoveryRESTMapper(discoverycache.NewMemCacheClient(found)).RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	if err != nil {
		t.Fatal(err)
	}
	objects := dynamic.NewForConfigOrDie(config)
	mine := objects.Resource(mapping.Resource).Namespace(n)
	list, err := mine.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	patched, err := mine.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedInt64(patched.Object, "spec", "replicas"); got != 3 {
		t.Errorf("%d replicas", got)
	}
	err = mine.Delete(t.Context(), "web", metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `AuthorityDelegation "`+l.Delegation+`" does not allow the request`) {
		t.Errorf("delete: %v", err)
	}
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	if _, err := objects.Resource(secrets).Namespace(n).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("secrets: %v", err)
	}
	l.end(t)
	if _, err := mine.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("after the delegation: %v", err)
	}
	if _, err := found.ServerVersion(); err != nil {
		t.Errorf("discovery after the delegation: %v", err)
	}
}

func deploymentOf(name string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%[1]q},"spec":{"replicas":1,"selector":{"matchLabels":{"app":%[1]q}},"template":{"metadata":{"labels":{"app":%[1]q}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, name)
}

// TestLentKubectl checks what kubectl does with a lent kubeconfig: to get, apply, scale, wait for a rollout, watch
// and follow a log works. The two that go on end with the delegation.
//
// Attack: `kubectl get --watch` or `kubectl logs -f` with a lent kubeconfig goes on after the delegation was deleted
// Answer: both end within two seconds
func TestLentKubectl(t *testing.T) {
	rules := `{"apiGroups":["apps"],"resources":["deployments"],"verbs":["get","list","watch","create","patch"]},{"apiGroups":["apps"],"resources":["deployments/scale"],"verbs":["get","update","patch"]},` +
		`{"apiGroups":[""],"resources":["pods","pods/log"],"verbs":["get"]},` + configMaps
	n, _ := stage(t, rules)
	newKubelet(t, n)
	l := lendRole(t, n, rules)
	file := filepath.Join(t.TempDir(), "web.json")
	if err := os.WriteFile(file, []byte(deploymentOf("web")), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := l.kubectl(t, args...).CombinedOutput()
		if err != nil {
			t.Errorf("kubectl %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("apply", "-f", file)
	run("get", "deployments", "-o", "wide")
	run("scale", "deployment/web", "--replicas=2")
	// The local cluster has no controllers: the test is the one that rolls out.
	done := `{"status":{"observedGeneration":9,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2}}`
	request{as: "root", method: "PATCH", path: "/apis/apps/v1/namespaces/" + n + "/deployments/web/status", contentType: mergePatch, body: done}.want(t, 200)
	if out := run("rollout", "status", "deployment/web", "--timeout=30s"); !strings.Contains(out, "successfully rolled out") {
		t.Errorf("%s", out)
	}
	if out := run("logs", "web", "--tail=1"); !strings.Contains(out, "a line of the log") {
		t.Errorf("%s", out)
	}
	apply(t, maps(n), `{"metadata":{"name":"c"}}`)
	ended := make(chan error, 2)
	for _, args := range [][]string{{"logs", "-f", "web"}, {"get", "configmaps", "--watch", "-o", "name"}} {
		cmd := l.kubectl(t, args...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("kubectl %q: %v", args, err)
		}
		go func() {
			_, _ = io.Copy(io.Discard, lines)
			ended <- cmd.Wait()
		}()
	}
	begin := l.end(t)
	for range cap(ended) {
		<-ended
	}
	if took := time.Since(begin); took > endsAfter {
		t.Errorf("kubectl ended %s after the delegation", took)
	}
	if out, err := l.kubectl(t, "get", "deployment", "web").CombinedOutput(); err == nil || !strings.Contains(string(out), "does not exist") {
		t.Errorf("after the delegation: %v, %s", err, out)
	}
}

// TestLentRefusals checks, with kubectl and with raw requests, that each connection is refused with its reason,
// though the delegation allows all of them.
//
// Attack: a lent kubeconfig opens a connection to a pod, a service or a node (exec, attach, port-forward, cp, proxy), or upgrades a watch
// Answer: 403 with the reason, and nothing reaches the node
//
// Attack: the holder of a lent kubeconfig connects to a kubelet or an aggregated server itself, which asks the API server by SubjectAccessReview
// Answer: the same is refused there
func TestLentRefusals(t *testing.T) {
	rules := `{"apiGroups":[""],"resources":["pods","pods/exec","pods/attach","pods/portforward","pods/proxy","services","services/proxy","configmaps"],"verbs":["*"]}`
	n, _ := stage(t, rules)
	everywhere(t, "alice", `{"apiGroups":[""],"resources":["nodes","nodes/proxy"],"verbs":["*"]}`)
	newKubelet(t, n)
	l := lendRole(t, n, rules)
	const why = "what it starts there would not end with the delegation"
	for _, args := range [][]string{
		{"exec", "web", "--", "true"}, {"attach", "web"}, {"port-forward", "pod/web", "0:80"}, {"cp", "web:/etc/hosts", filepath.Join(t.TempDir(), "hosts")},
		{"get", "--raw", "/api/v1/namespaces/" + n + "/pods/web/proxy/"}, {"get", "--raw", "/api/v1/namespaces/" + n + "/services/web/proxy/"},
	} {
		if out, err := l.kubectl(t, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), why) {
			t.Errorf("kubectl %q: %v\n%s", args, err, out)
		}
	}
	whole := newAccount(t, n)
	whole.bind(t, delegation{to: whole.delegate(), rules: `{"apiGroups":[""],"resources":["nodes","nodes/proxy"],"verbs":["*"]}`}.by(t, "root", ""))
	request{as: whole.token, method: "GET", path: "/api/v1/nodes"}.eventually(t, 200)
	for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"} {
		for _, path := range []string{"/api/v1/nodes/node-" + n + "/proxy", "/api/v1/nodes/node-" + n + "/proxy/exec/x/y/z"} {
			if got := (request{as: whole.token, method: method, path: path}).to(t); got.status != http.StatusForbidden || method != "HEAD" && !strings.Contains(got.body, why) {
				t.Errorf("%s %s: %s", method, path, got)
			}
		}
	}
	for asked, want := range map[string]string{
		`"verb":"list","resource":"nodes"`: `"allowed":true`, `"verb":"create","resource":"nodes","subresource":"proxy"`: `"allowed":false`,
		`"verb":"get","resource":"nodes","subresource":"proxy"`: `"allowed":false`,
	} {
		request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			body: fmt.Sprintf(`{"spec":{"user":%q,"resourceAttributes":{%s}}}`, whole.user(), asked)}.want(t, 201, want)
	}
	for _, protocol := range []string{"websocket", "SPDY/3.1", "h2c", "x"} {
		if got := dial(t, l.Token, "", "GET", maps(n)+"?watch=1", protocol, "").resp; got.StatusCode != http.StatusForbidden {
			t.Errorf("a watch that upgrades to %s: %s", protocol, got.Status)
		}
	}
	// The twin: the same user without a binding, and the same rules by a header.
	d := delegation{scope: n, rules: `{"apiGroups":[""],"resources":["pods","pods/exec"],"verbs":["*"]}`}.by(t, "alice", "")
	if got := dial(t, "bot", d, "POST", "/api/v1/namespaces/"+n+"/pods/web/exec?command=sh", "SPDY/3.1", ""); !got.echoes() {
		t.Errorf("exec under a selection: %s", got.resp.Status)
	}
}

// TestLentReviews checks what another server learns that gets a token of a lent kubeconfig and asks with
// TokenReview and SubjectAccessReview, as kubelets and kube-rbac-proxy do.
func TestLentReviews(t *testing.T) {
	n, _ := stage(t, configMaps)
	l := lendRole(t, n, configMaps)
	client := kubernetes.NewForConfigOrDie(harness.Config(t, on, "admin"))
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: l.Token}}
	reviewed, err := client.AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil || !reviewed.Status.Authenticated {
		t.Fatalf("%+v, %v", reviewed, err)
	}
	u := reviewed.Status.User
	spec := authorizationv1.SubjectAccessReviewSpec{User: u.Username, UID: u.UID, Groups: u.Groups, Extra: map[string]authorizationv1.ExtraValue{}}
	for key, values := range u.Extra {
		spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	ask := func(resource string) bool {
		t.Helper()
		spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Namespace: n, Verb: "list", Resource: resource}
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Status.Allowed
	}
	grant(t, n, u.Username, ownSecrets)
	if !ask("configmaps") || ask("secrets") {
		t.Error("the reviews do not answer by the delegation")
	}
	l.end(t)
	if ask("configmaps") || ask("secrets") {
		t.Error("the reviews allow something after the delegation")
	}
}

// TestLentCertificate checks that a client certificate with the name of a bound account, also one with a powerful
// group, gives what the delegation allows, and that the account itself can't request one.
//
// Attack: getting a certificate with the name of a bound account, which has no UID, to escape its delegation
// Answer: the delegation decides, by the name; the account itself can't request certificates
func TestLentCertificate(t *testing.T) {
	csr := `{"apiGroups":["certificates.k8s.io"],"resources":["certificatesigningrequests"],"verbs":["create","get"]}`
	n, _ := stage(t, configMaps)
	l := lendRole(t, n, configMaps)
	user := "system:serviceaccount:" + l.Account.Namespace + ":" + l.Account.Name
	grant(t, n, user, ownSecrets)
	for _, groups := range [][]string{nil, {"system:masters"}} {
		client := kubernetes.NewForConfigOrDie(certified(t, user, groups))
		if _, err := client.CoreV1().ConfigMaps(n).List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("%q: %v", groups, err)
		}
		if _, err := client.CoreV1().Secrets(n).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%q: secrets: %v", groups, err)
		}
	}
	whole := newAccount(t, n)
	whole.bind(t, delegation{to: whole.delegate(), rules: csr}.by(t, "root", ""))
	request{as: whole.token, method: "GET", path: "/apis/certificates.k8s.io/v1/certificatesigningrequests/none"}.eventually(t, 404)
	body := fmt.Sprintf(`{"metadata":{"name":"csr-%s"},"spec":{"request":"","signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"]}}`, n)
	request{as: whole.token, method: "POST", path: "/apis/certificates.k8s.io/v1/certificatesigningrequests", body: body}.want(t, 403, "no token or certificate")
	l.end(t)
	client := kubernetes.NewForConfigOrDie(certified(t, user, []string{"system:masters"}))
	if _, err := client.CoreV1().ConfigMaps(n).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("after the delegation: %v", err)
	}
}

// certified returns the configuration of a client that has a certificate of the cluster's authority.
func certified(t *testing.T, user string, groups []string) *rest.Config {
	t.Helper()
	authority, _, err := pki.Ensure(filepath.Join(on.Dir, "pki"))
	if err != nil {
		t.Fatal(err)
	}
	out := rest.AnonymousClientConfig(harness.Config(t, on, "admin"))
	if out.CertData, out.KeyData, err = authority.Client(user, groups...); err != nil {
		t.Fatal(err)
	}
	return out
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

const copierName = "system:serviceaccount:copier:copier"

// runCopier runs the example controller examples/copier until the test ends.
func runCopier(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(root, "bin", "copier")
	if _, err := os.Stat(binary); err != nil {
		t.Fatal("bin/copier is missing, run `make examples` first:", err)
	}
	harness.MustKubectl(t, c, "", "apply", "-f", filepath.Join(root, "examples", "copier", "rights.yaml"))
	account := person(copierName, "system:serviceaccounts", "system:serviceaccounts:copier", "system:authenticated")
	request{as: account, method: "GET", path: "/api/v1/configmaps"}.eventuallyFrom(t, c, 200)
	var log bytes.Buffer
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+stand(t, c, account).kubeconfig)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("copier: %v\n%s", err, log.String())
		}
	})
}

// source returns a ConfigMap that asks the copier to copy it to another namespace.
func source(name, to string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"annotations":{"copier.example.com/to":%q}},"data":{"a":"b"}}`, name, to)
}

// told waits until the copier has created an event that contains a text.
func told(t *testing.T, c *cluster.Cluster, namespace, says string) {
	t.Helper()
	var got response
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		got = request{as: master, method: "GET", path: "/apis/events.k8s.io/v1/namespaces/" + namespace + "/events"}.to(t, c)
		return strings.Contains(got.body, `"NotCopied"`) && strings.Contains(got.body, says), nil
	})
	if err != nil {
		t.Errorf("no event of %s says %q: %s", namespace, says, got)
	}
}

// TestCopier checks that the example controller copies an object only if the role for the
// object's namespace allows it, although the controller also holds the roles for other
// namespaces. On a server without the gate it copies nothing, whatever its own rights are.
//
// Attack: an object that makes a controller write where the object's author may not write, but others may
// Answer: 403, the controller selects the authority of the author's namespace
func TestCopier(t *testing.T) {
	for _, namespace := range []string{"copied-shop", "copied-evil", "copied-web", "copied-other"} {
		policy(t, on, namespace, "nobody")
	}
	// welcome creates and binds the role that allows copies from one namespace into another.
	welcome := func(to, from string) {
		t.Helper()
		name := "copier-from-copied-" + from
		apply(t, on, rbacPath+"namespaces/"+to+"/roles", fmt.Sprintf(`{"metadata":{"name":%q},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["create","patch"]}]}`, name))
		bind(t, on, to, copierName, "Role", name)
		request{as: person(copierName), method: "POST", path: "/api/v1/namespaces/" + to + "/configmaps?dryRun=All",
			body: `{"metadata":{"name":"own"}}`, selects: []string{role(to, name)}}.eventually(t, 201)
	}
	welcome("copied-web", "shop")
	welcome("copied-evil", "evil")
	runCopier(t, on)
	const maps = "/configmaps"
	at := func(namespace string) string { return "/api/v1/namespaces/copied-" + namespace + maps }

	apply(t, on, at("shop"), source("prices", "copied-web"))
	request{as: master, method: "GET", path: at("web") + "/prices"}.eventually(t, 200)
	// The copier itself may write there, by the role for copies from another namespace.
	account := person(copierName)
	request{as: account, method: "POST", path: at("web") + "?dryRun=All", body: `{"metadata":{"name":"own"}}`}.want(t, 201)
	apply(t, on, at("evil"), source("prices-of-evil", "copied-web"))
	told(t, on, "copied-evil", "copier-from-copied-evil")
	request{as: master, method: "GET", path: at("web") + "/prices-of-evil"}.want(t, 404)
	// Nor can the author of an object overwrite a copy of another namespace's object.
	apply(t, on, at("evil"), source("prices", "copied-web"))
	told(t, on, "copied-evil", `"name":"prices"`)
	if got := (request{as: master, method: "GET", path: at("web") + "/prices"}).want(t, 200); !strings.Contains(got.body, `"resourceVersion"`) || !strings.Contains(got.body, `"manager":"copier"`) {
		t.Error(got)
	}
	// Nobody has allowed copies into the namespace copied-other.
	apply(t, on, at("shop"), source("unwelcome", "copied-other"))
	told(t, on, "copied-shop", "copier-from-copied-shop")
	request{as: master, method: "GET", path: at("other") + "/unwelcome"}.want(t, 404)
	// Now copies are allowed: the next change of the object is copied.
	welcome("copied-web", "evil")
	request{as: master, method: http.MethodPatch, path: at("evil") + "/prices-of-evil", body: `{"data":{"a":"c"}}`,
		contentType: "application/merge-patch+json"}.want(t, 200)
	request{as: master, method: "GET", path: at("web") + "/prices-of-evil"}.eventually(t, 200)
	// The audit log shows which role each copy was made with.
	chains := harness.AuditChain(t, auditLog, "-n", "copied-web", "--user", copierName, "-o", "wide")
	for _, says := range []string{"Role/copied-web/copier-from-copied-shop", "Role/copied-web/copier-from-copied-evil", "403", "201"} {
		if !strings.Contains(chains, says) {
			t.Errorf("there is no %s in\n%s", says, chains)
		}
	}

	without := start(t, append([]string{"--"}, flags...)...)
	policy(t, without, "copied-web", "nobody")
	policy(t, without, "copied-shop", "nobody")
	bind(t, without, "", copierName, "ClusterRole", "cluster-admin")
	runCopier(t, without)
	apply(t, without, at("shop"), source("prices", "copied-web"))
	told(t, without, "copied-shop", "was not sent")
	if got := (request{as: master, method: "GET", path: at("web") + "/prices"}).to(t, without); got.status != 404 {
		t.Error("without the gate:", got)
	}
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// rebound is a name of another site that the browser takes for this machine, as after DNS rebinding.
const rebound = "rebound.example.com"

const rights = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: scaler},
 rules: [{apiGroups: [apps], resources: [deployments], verbs: [granular, "granular:replicas"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: scaler},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scaler},
 subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]}
`

// plugin runs kubectl granular ui for a file, and returns the address that it prints.
func plugin(t *testing.T) *url.URL {
	t.Helper()
	if browser == nil {
		t.Skip("there is no chromium, chromium-browser or google-chrome on PATH")
	}
	program, err := filepath.Abs("../../bin/kubectl-granular")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: run make kubectl-granular", err)
	}
	file := filepath.Join(t.TempDir(), "rights.yaml")
	if err := os.WriteFile(file, []byte(rights), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, "ui", "-f", file)
	command.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// says opens an address, and returns what the page or the refusal says.
func (t *tab) says(address string) string {
	t.Helper()
	t.do("open "+address, chromedp.Navigate(address))
	return eval[string](t, "document.body.innerText")
}

// TestToken checks with the program itself that its address opens the page once, and only with the token.
func TestToken(t *testing.T) {
	address := plugin(t)
	wrong := *address
	wrong.RawQuery = "token=" + strings.Repeat("A", 26)
	first := newTab(t, "")
	if text := first.says(wrong.String()); !strings.Contains(text, "works once") {
		t.Errorf("a wrong token: %s", text)
	}
	first.says(address.String())
	first.until("document.querySelector('#main .list') !== null")
	opened := eval[string](first, "location.href")
	if strings.Contains(opened, address.Query().Get("token")) {
		t.Errorf("the token is in the address of the page: %s", opened)
	}
	second := newTab(t, "")
	if text := second.says(address.String()); !strings.Contains(text, "works once") {
		t.Errorf("the token, once more: %s", text)
	}
	// The same browser has the cookie, for the secret path alone.
	second.says(opened)
	second.until("document.querySelector('#main .list') !== null")
	if text := second.says((&url.URL{Scheme: "http", Host: address.Host, Path: "/"}).String()); !strings.Contains(text, "works once") {
		t.Errorf("without the path: %s", text)
	}
}

// TestOtherPages checks that no other page in the same browser gets an answer of the program, although it
// knows the secret path: not from another port of this machine, and not by a name that leads here.
func TestOtherPages(t *testing.T) {
	address := plugin(t)
	own := newTab(t, "")
	own.says(address.String())
	own.until("document.querySelector('#main .list') !== null")
	opened := eval[string](own, "location.href.replace(/#.*/, '')")
	if status := eval[int](own, "fetch('api/snapshot').then(r => r.status)"); status != http.StatusOK {
		t.Fatalf("the page itself got %d", status)
	}

	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>foreign</title><p>foreign"))
	}))
	defer foreign.Close()
	other := newTab(t, "")
	statuses := other.statuses(address.Host)
	other.says(foreign.URL)
	for _, attempt := range []string{
		`fetch(%q + "api/snapshot", {credentials: "include"})`,
		`fetch(%q + "api/snapshot", {credentials: "include", mode: "no-cors"})`,
		`fetch(%q + "api/snapshot", {credentials: "include", mode: "no-cors", method: "POST", body: "{}"})`,
		`new Promise(done => { const i = new Image(); i.onload = i.onerror = done; i.src = %q + "api/snapshot"; })`,
		`new Promise(done => { const f = document.createElement("iframe"); f.onload = done; f.src = %q; document.body.append(f); })`,
	} {
		eval[bool](other, "("+fmt.Sprintf(attempt, opened)+").then(() => true, () => true)")
	}
	if got := statuses(); len(got) == 0 || slices.ContainsFunc(got, func(code int64) bool { return code != http.StatusForbidden }) {
		t.Errorf("requests of another page got %v, wanted %d only", got, http.StatusForbidden)
	}
	if text := other.says(strings.Replace(opened, address.Hostname(), rebound, 1)); !strings.Contains(text, "another server") {
		t.Errorf("by another name: %s", text)
	}
	// What the browser reports about the refused requests is no fault of the page.
	eval[bool](other, "(globalThis.faults = [], true)")
}

// statuses returns a function that returns the status of each answer from a host so far. The browser hides
// them from the page.
func (t *tab) statuses(host string) func() []int64 {
	t.Helper()
	if _, err := chromedp.Call(t.ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	events := make(chan any, 1000)
	if err := chromedp.Listen(t.ctx, func(event any) { events <- event }); err != nil {
		t.Fatal(err)
	}
	return func() (codes []int64) {
		asked := map[network.RequestID]bool{}
		for {
			select {
			case event := <-events:
				switch e := event.(type) {
				case *network.EventRequestWillBeSent:
					asked[e.RequestID] = strings.Contains(e.Request.URL, host)
				case *network.EventResponseReceivedExtraInfo:
					if asked[e.RequestID] {
						codes = append(codes, e.StatusCode)
					}
				}
			default:
				return codes
			}
		}
	}
}

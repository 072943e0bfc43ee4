// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"kube-granular.dev/pkg/cli/ui/web"
)

// patience bounds each wait for a condition. It is never what a test asserts.
const patience = 30 * time.Second

// browser is the context of the one browser of all tests, or nil if there is none.
var browser context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path := chromium()
	if path == "" {
		if os.Getenv("CI") == "true" && os.Getenv("KUBE_GRANULAR_NEEDS_CHROMIUM") != "" {
			fmt.Fprintln(os.Stderr, "no chromium, chromium-browser or google-chrome on PATH")
			return 1
		}
		return m.Run()
	}
	// Root has no sandbox in a container, and the page comes from this process alone.
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("host-resolver-rules", "MAP "+rebound+" 127.0.0.1"))...)
	defer stop()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "start", path+":", err)
		return 1
	}
	browser = ctx
	return m.Run()
}

func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// sample is the snapshot of the tests.
func sample(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../pkg/cli/ui/web/testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// tab is one tab of the browser with the page in it.
type tab struct {
	*testing.T
	ctx context.Context
	// base is the address of the page, without what follows #.
	base string
	// asked are the questions that the server got, and their bodies.
	asked chan question
}

// never is an answer that does not come before the page gives up.
const never = "never"

type question struct {
	Path string
	Body map[string]any
}

// serve opens the page as it is served, at an address such as #/people.
func serve(t *testing.T, snapshot map[string]any, hash string, answers map[string]string) *tab {
	t.Helper()
	asked := make(chan question, 100)
	document, policy, err := web.Page("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/api/")
		answer, known := answers[name]
		switch {
		case r.URL.Path == "/":
			w.Header().Set("Content-Security-Policy", policy)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(document)
		case known && answer == never:
			asked <- question{Path: name}
			<-r.Context().Done()
		case known:
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			asked <- question{name, body}
			_, _ = w.Write([]byte(answer))
		case name == "snapshot":
			_ = json.NewEncoder(w).Encode(snapshot)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error": "no such question"}`))
		}
	}))
	t.Cleanup(server.Close)
	out := newTab(t, server.URL+"/")
	out.asked = asked
	out.open(hash)
	return out
}

// file opens the page as a file, with the snapshot in it.
func file(t *testing.T, snapshot map[string]any, hash string) *tab {
	t.Helper()
	text, err := json.Marshal(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	document, _, err := web.Page("test", text)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, document, 0o600); err != nil {
		t.Fatal(err)
	}
	out := newTab(t, (&url.URL{Scheme: "file", Path: path}).String())
	out.open(hash)
	return out
}

// faults is run before the page's own script, and keeps what goes wrong.
const faults = `globalThis.faults = [];
addEventListener("error", e => faults.push("error: " + e.message));
addEventListener("unhandledrejection", e => faults.push("rejected: " + e.reason));
addEventListener("securitypolicyviolation", e => faults.push("policy: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample));
for (const level of ["error", "warn", "assert"]) console[level] = (...a) => faults.push(level + ": " + a.join(" "));
globalThis.alert = globalThis.prompt = globalThis.confirm = text => faults.push("alert: " + text);`

func newTab(t *testing.T, base string) *tab {
	t.Helper()
	if browser == nil {
		t.Skip("there is no chromium, chromium-browser or google-chrome on PATH")
	}
	ctx, cancel := chromedp.NewContext(browser)
	out := &tab{T: t, ctx: ctx, base: base}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var all []string
		got, err := chromedp.Run(ctx, chromedp.Evaluate[[]string]("globalThis.faults"))
		if all = got; err != nil {
			t.Error(err)
		}
		for _, fault := range all {
			t.Error("the browser reports", fault)
		}
		cancel()
	})
	early := page.AddScriptToEvaluateOnNewDocumentParams{Source: faults}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, early); err != nil {
		t.Fatal(err)
	}
	out.size(1280, 800)
	return out
}

// do runs actions within patience.
func (t *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// eval evaluates an expression in the page.
func eval[T any](t *tab, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return out
}

// until waits until an expression is true in the page.
func (t *tab) until(expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience/3)
	defer cancel()
	look := fmt.Sprintf(`new Promise(done => {
		const look = () => { let ok = false; try { ok = %s } catch {} ok ? done(true) : setTimeout(look, 10); };
		look();
	})`, expression)
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](look, chromedp.EvalAwaitPromise))
	if errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("never true: %s\n%s", expression, eval[string](t, "location.href + ' says:\\n' + document.body.innerText"))
	}
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
}

// shows waits until the part of the page that a selector names shows a text.
func (t *tab) shows(selector, text string) {
	t.Helper()
	t.until(fmt.Sprintf("[...document.querySelectorAll(%q)].some(e => e.innerText.includes(%s))", selector, quote(text)))
}

// shown is what a part of the page shows.
func (t *tab) shown(selector string) string {
	t.Helper()
	return eval[string](t, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

func (t *tab) open(hash string) {
	t.Helper()
	t.do("open "+hash, chromedp.Navigate(t.base+hash))
	if hash == "#waits" {
		t.click("#main button", "Cancel")
	}
	t.until("document.querySelector('#main .list, #main [role=alert]') !== null")
}

// visit follows a link to a state of the open page.
func (t *tab) visit(hash string) {
	t.Helper()
	eval[bool](t, fmt.Sprintf("(location.hash = %s, true)", quote(hash)))
}

// keys presses named keys such as kb.Enter, and types texts. A key that the page prevents types nothing, as
// in a browser with a keyboard.
func (t *tab) keys(keys ...string) {
	t.Helper()
	for _, k := range keys {
		if k[0] >= 0x80 || k == kb.Enter || k == kb.Tab || k == kb.Escape {
			t.do("press "+k, chromedp.KeyEvent(k))
			continue
		}
		t.do("type "+k, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			for _, c := range k {
				for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
					event := input.DispatchKeyEventParams{Type: kind, Key: string(c)}
					if kind == input.DispatchKeyEventTypeKeyDown {
						event.Text = string(c)
					}
					if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, event); err != nil {
						return err
					}
				}
			}
			return nil
		}))
	}
}

// click clicks the first element below a selector whose text contains a text.
func (t *tab) click(selector, text string) {
	t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll(%q)].find(e => e.innerText.includes(%s) && e.checkVisibility())", selector, quote(text))
	t.until(find + " !== undefined")
	at := eval[[]float64](t, fmt.Sprintf(`(e => {
		e.scrollIntoView({block: "nearest"});
		const r = e.getBoundingClientRect();
		return [r.x + Math.min(r.width / 2, 60), r.y + r.height / 2];
	})(%s)`, find))
	t.do("click "+text, chromedp.MouseClickXY(at[0], at[1]))
}

func (t *tab) size(width, height int64) {
	t.Helper()
	t.do("resize", chromedp.EmulateViewport(width, height))
}

// quote is a text as a literal of JavaScript.
func quote(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

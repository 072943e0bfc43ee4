// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestThreeClicks asks the three questions for which the page is made, from its first view, by at most
// three clicks each.
func TestThreeClicks(t *testing.T) {
	for _, test := range []struct {
		name   string
		clicks [][2]string // a selector, and a text
		see    [][2]string
	}{
		{
			"who may change .spec.replicas of deployments in shop?",
			[][2]string{{".side .row", "Deployment"}, {".pane .row", "replicas"}},
			[][2]string{{".detail h3", "who may, in shop"}, {".detail summary", "group oncall"}, {".detail summary", "group devs"}},
		},
		{
			"what may group devs change?",
			[][2]string{{"#tabs a", "People"}, {".side .row", "group devs"}},
			[][2]string{{".pane h2", "group devs"}, {".pane .row", "Deployment"}, {".pane .row", "all fields"}, {".pane .row", "ConfigMap"}},
		},
		{
			"why was ci/robot refused, and what is the least that helps?",
			[][2]string{{"#tabs a", "Denials"}, {".pane .row", "ci/robot"}},
			[][2]string{{".detail", "cannot change .spec.replicas"}, {".detail figure", "granular:replicas"}, {".detail summary", "group oncall"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			page := serve(t, sample(t), "", nil)
			if len(test.clicks) > 3 {
				t.Fatalf("%d clicks", len(test.clicks))
			}
			for _, c := range test.clicks {
				page.click(c[0], c[1])
			}
			for _, s := range test.see {
				page.shows(s[0], s[1])
			}
		})
	}
}

// TestKeyboard uses each view without a pointer.
func TestKeyboard(t *testing.T) {
	active := func(page *tab, text string) {
		t.Helper()
		row := "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
		page.until(fmt.Sprintf("%s.innerText.includes(%s)", row, quote(text)))
	}
	t.Run("fields", func(t *testing.T) {
		page := serve(t, sample(t), "", nil)
		page.keys(kb.Tab, kb.Tab, kb.Tab, kb.Tab, kb.Tab, kb.Tab) // namespace, search, colours, collect, tabs
		for !eval[bool](page, "document.activeElement.matches('.tree, [role=tree]')") {
			page.keys(kb.Tab)
		}
		active(page, "apps")
		page.keys(kb.ArrowLeft)
		page.until("!document.querySelector('[role=tree]').innerText.includes('Deployment')")
		page.keys(kb.ArrowRight, kb.ArrowDown)
		active(page, "Deployment")
		page.keys(kb.Enter)
		page.until("document.activeElement.matches('[role=treegrid]')")
		active(page, "metadata")
		page.keys(kb.ArrowLeft, kb.ArrowDown)
		active(page, "spec")
		page.keys(kb.ArrowDown)
		active(page, "replicas")
		page.keys(kb.Enter)
		page.shows(".detail h2", ".spec.replicas")
		page.shows("#live", ".spec.replicas: 6 holders in shop")
		page.keys(kb.Tab)
		page.until("document.activeElement.matches('.detail')")
	})
	t.Run("people", func(t *testing.T) {
		page := serve(t, sample(t), "", nil)
		page.keys("2")
		page.until("document.activeElement.matches('[role=grid]')")
		page.keys(kb.ArrowDown, kb.ArrowDown, kb.ArrowRight)
		page.shows("#live", "group devs on deployments.apps: all fields")
		page.keys(kb.End)
		page.shows("#live", "kube-system/deployment-controller on deployments.apps: some fields")
		page.keys(kb.Home, kb.ArrowRight, kb.Enter)
		page.shows(".detail", "RoleBinding shop/devs → ClusterRole edit-deployments")
		page.shows(".detail", "get, list, update, patch on deployments.apps")
	})
	t.Run("denials", func(t *testing.T) {
		page := serve(t, sample(t), "", nil)
		page.keys("3", kb.Enter)
		page.shows(".detail", "least role that helps")
		page.keys(kb.End, kb.Enter)
		page.shows(".detail", "No role helps.")
	})
	t.Run("help", func(t *testing.T) {
		page := serve(t, sample(t), "", nil)
		page.keys("?")
		page.shows("dialog[open]", "search")
		page.keys(kb.Escape)
		page.until("document.querySelector('dialog[open]') === null")
	})
}

func TestSearch(t *testing.T) {
	page := serve(t, sample(t), "#/people", nil)
	page.keys("/")
	page.until("document.activeElement.id === 'search'")
	page.keys("deployment replicas")
	page.shows(".hits .row", ".spec.replicas")
	page.keys(kb.ArrowDown, kb.ArrowUp, kb.Enter)
	page.shows(".detail h2", ".spec.replicas")
	page.keys("/", "devs", kb.Enter)
	page.shows(".pane h2", "group devs")
	page.keys("/", "no such thing")
	page.shows("#live", "0 found")
	page.keys(kb.Escape)
	page.until("document.querySelector('.hits').hidden && document.activeElement.matches('.list')")
}

// TestAddresses opens states by their addresses, and goes back.
func TestAddresses(t *testing.T) {
	page := serve(t, sample(t), "#/fields/apps/Deployment/spec.replicas?ns=shop", nil)
	page.shows(".detail h2", ".spec.replicas")
	page.click(".detail summary a", "group oncall")
	page.shows(".pane h2", "group oncall")
	page.click(".pane .row", "Deployment")
	page.shows(".detail", "RoleBinding shop/oncall → ClusterRole scale")
	page.do("back", chromedp.NavigateBack())
	page.until("!document.querySelector('.detail').innerText.includes('RoleBinding')")
	page.do("back", chromedp.NavigateBack())
	page.shows(".detail h2", ".spec.replicas")
	for hash, want := range map[string][2]string{
		"#/fields/apps/Deployment/spec.template.spec.containers[*].image": {".pane .row.active", "image"},
		"#/fields/apps/Deployment/metadata.labels[example.com%2Ftier]":    {".detail", "granular:protectedLabel(example.com/tier)"},
		"#/fields/core/ConfigMap/data?ns=*":                               {".detail h3", "who may, in any namespace"},
		"#/fields/core/NoSuchKind":                                        {".pane .empty", "no kind NoSuchKind"},
		"#/people/user/nobody-knows":                                      {".pane .empty", "no right"},
		"#/people?k=widg":                                                 {".matrix .row", "Widget"},
		"#/denials/d3":                                                    {".detail", "No role helps."},
		"#/nonsense/%ff%":                                                 {".side", "Deployment"},
	} {
		page.visit(hash)
		page.shows(want[0], want[1])
	}
}

// TestUnknown sees that what could not be read is "?", and that the same question where all was read is
// answered.
func TestUnknown(t *testing.T) {
	snapshot := sample(t)
	dark := map[string]any{"what": "rolebindings", "except": []any{"shop"}, "why": "forbidden: <b>"}
	snapshot["unknown"] = append(snapshot["unknown"].([]any), dark)
	page := serve(t, snapshot, "#/people/group/oncall/core/Secret?ns=default", nil)
	page.shows(".pane", "? rolebindings can't be read except in shop: forbidden: <b>")
	page.shows(".detail", "? not known")
	page.visit("#/people?ns=default")
	page.shows(".box.ask", "?")
	page.until("document.querySelector('.box.none') === null")
	page.visit("#/people?ns=shop")
	page.shows(".box.none", "·")
	page.until("document.querySelector('.box.ask') === null")
	page.visit("#/fields/core/Secret/data?ns=default")
	page.shows(".detail", "? rolebindings can't be read")
	// Delegations count only where they are selected, so they leave no right of a binding open.
	snapshot = sample(t)
	snapshot["unknown"] = []any{map[string]any{"what": "authoritydelegations", "why": "forbidden"}}
	page = serve(t, snapshot, "#/people?ns=shop", nil)
	page.shows(".pane", "? authoritydelegations can't be read: forbidden")
	page.shows(".box.none", "·")
	// A role that can't be read leaves open only what its subjects hold.
	page = serve(t, sample(t), "#/people?ns=ci", nil)
	page.until("document.querySelectorAll('.box.ask').length === 5")
	page.visit("#/fields/core/Secret/data?ns=ci")
	page.shows(".detail", "? not known of serviceaccount ci/robot")
	page.shows(".side", "? gadgets.example.com: the server publishes no schema")
}

// TestRightsOfSubjects compares what the script joins with what the sample means.
func TestRightsOfSubjects(t *testing.T) {
	page := serve(t, sample(t), "", nil)
	for _, test := range []struct{ hash, selector, want, no string }{
		{"#/fields/apps/Deployment/spec.replicas?ns=shop", ".detail", "group oncall", "deployment-controller"},
		{"#/fields/apps/Deployment/spec.replicas?ns=default", ".detail", "user ops", "group oncall"},
		{"#/fields/apps/Deployment/spec.replicas?ns=*", ".detail", "group oncall", "deployment-controller"},
		{"#/fields/apps/Deployment/status.conditions?ns=shop", ".detail", "deployment-controller", "group devs"},
		{"#/fields/apps/Deployment/spec.template.spec.containers[*].image?ns=shop", ".detail", "serviceaccount ci/robot", "group oncall"},
		// update alone never suffices for an excluded field.
		{"#/fields/example.com/Widget/spec.guard?ns=shop", ".detail", "user jane", "group devs"},
		// A RoleBinding holds nothing on kinds of the cluster.
		{"#/fields/rbac.authorization.k8s.io/ClusterRole/rules?ns=shop", ".detail", "user ops", "jane"},
		{"#/people/serviceaccount/ci%2Frobot/apps/Deployment?ns=shop", ".detail", "through delegations", "RoleBinding shop/devs"},
		{"#/people/group/devs/core/ConfigMap?ns=shop", ".detail", "named settings", "everything"},
		{"#/people/user/jane/apps/Deployment?ns=shop", ".detail", "granular:protectedLabel(example.com/tier) ✓ held", "everything"},
		{"#/people/group/devs/apps/Deployment?ns=shop", ".detail", "granular:protectedLabel(example.com/tier) ✕ not held", "everything"},
		{"#/people/group/system:masters?ns=shop", ".pane", "may do everything, without a binding", "not known"},
		{"#/people/user/ops?ns=shop", ".pane", "can get more rights: may escalate, bind, impersonate", "without a binding"},
	} {
		page.visit(test.hash)
		page.shows(test.selector, test.want)
		if got := page.shown(test.selector); strings.Contains(got, test.no) {
			t.Errorf("%s shows %q:\n%s", test.hash, test.no, got)
		}
	}
}

func TestGrant(t *testing.T) {
	answers := map[string]string{"grant": `{"name": "r", "yaml": "kind: Role # <b>\n", "commands": ["kubectl create role r"],
		"test": "kind: RoleTest\n", "allows": [".spec.replicas"], "beyond": ["It also allows <i>x</i>."]}`}
	page := serve(t, sample(t), "#/fields/apps/Deployment/spec.replicas?ns=shop", answers)
	page.click(".detail button", "Grant this to")
	page.shows("dialog[open]", "Pick at least one field and one subject.")
	eval[bool](page, "(document.querySelector('dialog[open] [list=people-list]').focus(), true)")
	page.keys("user:jane", kb.Enter)
	page.shows("dialog[open] pre", "kind: Role # <b>")
	page.shows("dialog[open]", "▲ It also allows <i>x</i>.")
	page.shows("dialog[open]", "Role test")
	got := <-page.asked
	const want = "map[names:[] namespace:shop picks:[map[kind:2 parameter: path:.spec.replicas]] subjects:[user:jane]]"
	if fmt.Sprint(got.Body) != want {
		t.Errorf("asked %v, want %v", got.Body, want)
	}
	link := eval[string](page, "location.hash")
	page.do("back", chromedp.NavigateBack())
	page.until("document.querySelector('dialog[open]') === null")
	page.visit(link)
	page.shows("dialog[open] .chips", "user jane")
	page.keys(kb.Escape)
	page.until("!location.hash.includes('grant')")
	if got := eval[string](page, "location.hash"); got != "#/fields/apps/Deployment/spec.replicas?ns=shop" {
		t.Error("the address after the dialog is", got)
	}

	// A verb with a parameter waits for it.
	page.visit("#/fields/apps/Deployment/metadata.labels[*]?ns=shop")
	page.click(".detail button", "Grant this to")
	eval[bool](page, "(document.querySelector('dialog[open] [list=people-list]').focus(), true)")
	page.keys("group:devs", kb.Enter)
	page.shows("dialog[open]", "needs a label-key prefix")
	eval[bool](page, "(document.querySelector('dialog[open] [aria-label=\"label-key prefix\"]').focus(), true)")
	page.keys("example.com", kb.Enter)
	page.shows("dialog[open] pre", "kind: Role")
	for got = range page.asked {
		if strings.Contains(fmt.Sprint(got.Body), "parameter:example.com") {
			break
		}
	}
}

// TestFile uses the page as a file: it asks nobody, and says what needs the server.
func TestFile(t *testing.T) {
	page := file(t, sample(t), "#/fields/apps/Deployment/spec.replicas?ns=shop")
	page.click(".detail button", "Grant this to")
	eval[bool](page, "(document.querySelector('dialog[open] [list=people-list]').focus(), true)")
	page.keys("serviceaccount:ci/robot", kb.Enter)
	page.shows("dialog[open] pre", `verbs: ["granular","granular:replicas"]`)
	page.shows("dialog[open] pre", "- kind: ServiceAccount\n  namespace: \"ci\"\n  name: \"robot\"")
	page.keys(kb.Escape)
	page.visit("#/people/user/jane")
	page.click("summary", "Would this be allowed?")
	page.click("form button", "Ask")
	page.shows(".pane", "kubectl granular can-i --as=jane -n shop -f FILE")
	page.visit("#/denials")
	page.click("form button", "Explain")
	page.shows(".side", "kubectl granular explain-denial")
	if n := eval[int](page, "performance.getEntriesByType('resource').length"); n != 0 {
		t.Errorf("a file loads %d resources", n)
	}
}

func TestAnswers(t *testing.T) {
	answers := map[string]string{
		"allowed": `{"evaluations": [{"object": "deployments.apps \"web\"", "verb": "patch", "ordinary": false, "allowed": false, "sure": false,
			"fields": [{"path": ".spec.replicas", "verbs": ["granular:replicas"], "excluded": false, "allowed": false, "why": "<u>no</u>"}]}],
			"note": "not asked"}`,
		"denial": `{"denials": [{"key": "new", "count": 1, "user": "eve", "subject": -1, "kind": -1, "resource": "pods",
			"message": "pods is forbidden <s>"}], "unread": 2, "more": 5}`,
	}
	page := serve(t, sample(t), "#/people/user/jane", answers)
	page.click("summary", "Would this be allowed?")
	page.click("textarea", "")
	page.keys("deployments/web {}")
	page.click("form button", "Ask")
	page.shows(".pane", "✕ refused patch deployments.apps")
	page.shows(".pane td", "✕ no")
	page.shows(".pane td", "<u>no</u>")
	page.shows(".pane .unknown", "? without a dry run")
	if got, want := fmt.Sprint((<-page.asked).Body), "map[as:user:jane namespace:shop text:deployments/web {}]"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	page.visit("#/denials")
	page.click("form button", "Explain")
	page.shows(".detail", "pods is forbidden <s>")
	page.shows(".side", "1 refusal, 2 lines not understood, and 5 earlier ones")
	page.shows("#tabs", "Denials 4")

	// A failed question says why.
	page = serve(t, sample(t), "#/people/user/jane", nil)
	page.click("summary", "Would this be allowed?")
	page.click("form button", "Ask")
	page.shows("[role=alert]", "✕ no such question")
}

// TestCollect collects anew, gives up, and says what is wrong.
func TestCollect(t *testing.T) {
	page := serve(t, sample(t), "#/people/group/devs", nil)
	page.click("header button", "⟳")
	page.shows(".pane h2", "group devs")

	page = serve(t, sample(t), "", map[string]string{"snapshot": `{"version": 9}`})
	page.shows("[role=alert]", "✕ the snapshot has version 9; this page reads version 1")
	page.click("#main button", "Try again")
	page.shows("[role=alert]", "version 9")

	page = serve(t, sample(t), "#waits", map[string]string{"snapshot": never})
	page.shows("[role=alert]", "✕ cancelled")
}

// TestBoundDenials shows a refused request of a service account that acts under a delegation, from an audit log with
// "via":"Binding": the page suggests no role, and says that another role must be lent.
func TestBoundDenials(t *testing.T) {
	snapshot := sample(t)
	denials := snapshot["denials"].([]any)
	snapshot["denials"] = append(denials, map[string]any{"key": "bound", "count": 1, "user": "system:serviceaccount:ci:robot", "subject": 6, "verb": "create", "kind": -1,
		"resource": "pods/exec", "namespace": "shop", "name": "web", "missing": []any{"create"},
		"message": "a service account that acts under a delegation can't connect to pods <b>",
		"advice":  "The request was made with a selected role or delegation, and that one refuses it. To a service account that acts under a delegation, lend another role."})
	page := serve(t, snapshot, "#/denials/bound", nil)
	page.shows(".detail", "can't connect to pods <b>")
	page.shows(".detail", "lend another role")
	if got := page.shown(".detail"); strings.Contains(got, "kubectl create role") {
		t.Errorf("the page suggests a role:\n%s", got)
	}
}

// TestRightDenials hides a refusal that is right, and shows it again.
func TestRightDenials(t *testing.T) {
	page := serve(t, sample(t), "#/denials/d1", nil)
	page.click(".detail button", "This is right")
	page.shows("#tabs", "Denials 2")
	page.until("!document.querySelector('.pane').innerText.includes('ci/robot')")
	page.do("reload", chromedp.Reload())
	page.shows("#tabs", "Denials 2")
	page.click(".side label", "also those that are right")
	page.click(".pane .row", "ci/robot")
	page.click(".detail button", "This is not right")
	page.shows("#tabs", "Denials 3")
}

// TestHostileNames puts names that would be markup everywhere, and sees each as text.
func TestHostileNames(t *testing.T) {
	corpus := []string{
		`<img src=x onerror=alert(1)>`, `"><script>alert(1)</script>`, `'"onfocus=alert(1) autofocus x='`, `</script><script>alert(1)</script>`,
		`javascript:alert(1)`, "\u202emoc.elpmaxe", "a\u200bb", `{{constructor}}`, `<!--`, `../../#/denials`, `%3Cb%3E`,
		`__proto__`, `a/b;c,d?e&f=g`, `${alert(1)}`,
	}
	for _, name := range corpus {
		snapshot := sample(t)
		set := func(table string, i int, key string) { snapshot[table].([]any)[i].(map[string]any)[key] = name }
		snapshot["names"].([]any)[1] = name
		snapshot["namespaces"].([]any)[1] = name
		set("subjects", 3, "n")
		set("roles", 1, "n")
		set("verbs", 8, "v")
		set("fields", 14, "n")
		set("kinds", 3, "kind")
		set("kinds", 3, "group")
		set("protected", 0, "key")
		set("delegations", 0, "name")
		for _, key := range []string{"key", "user", "resource", "namespace", "name", "field", "message", "advice"} {
			set("denials", 2, key)
		}
		tenant := snapshot["tenants"].([]any)[0].(map[string]any)
		tenant["account"], tenant["ready"], tenant["facts"] = name, name, []any{[]any{"Sudo", name}}
		for _, key := range []string{"people", "requests", "periods", "leftovers"} {
			for _, row := range tenant[key].([]any) {
				for _, field := range []string{"name", "who", "reason", "until", "decidedBy", "account", "kind", "maker"} {
					if _, found := row.(map[string]any)[field]; found {
						row.(map[string]any)[field] = name
					}
				}
			}
		}
		snapshot["texts"].([]any)[6] = name
		snapshot["about"].(map[string]any)["context"] = name
		snapshot["unknown"].([]any)[0].(map[string]any)["why"] = name
		t.Run(name, func(t *testing.T) {
			page := file(t, snapshot, "#/fields/apps/Deployment?ns=shop")
			before := eval[int](page, "document.querySelectorAll('script, style, img, iframe, b').length")
			path := eval[string](page, "'."+"spec.' + "+quote(name)+"; ")
			page.visit("#/fields/apps/Deployment/" + encode(page, strings.TrimPrefix(path, ".")) + "?ns=shop")
			page.until("document.querySelectorAll('.detail summary').length >= 3")
			page.visit("#/people/group/" + encode(page, name) + "/apps/Deployment?ns=shop")
			page.shows(".detail", "may change")
			page.visit("#/people?ns=*")
			page.until("document.querySelectorAll('.column').length > 5")
			page.visit("#/denials")
			page.until("document.querySelectorAll('.pane .row').length === 3")
			page.click(".pane .row:nth-child(3)", "")
			page.until("document.querySelector('.detail h3') !== null")
			page.visit("#/tenants/books")
			page.until("document.querySelectorAll('.detail tr').length === 16")
			page.visit("#/fields/apps/Deployment?grant=1&who=group;" + encode(page, encode(page, name)))
			page.until("document.querySelector('dialog[open] .chips li') !== null")
			if n := eval[int](page, "document.querySelectorAll('script, style, img, iframe, b').length"); n != before {
				t.Errorf("%d elements that run or load, and there were %d", n, before)
			}
			if strings.ContainsAny(eval[string](page, "document.body.innerText"), "\u202e\u200b") {
				t.Error("the page shows hidden characters as they are")
			}
		})
	}
}

func encode(page *tab, text string) string {
	page.Helper()
	return eval[string](page, "encodeURIComponent("+quote(text)+")")
}

// TestNarrow sees that no view is wider than a phone, and none breaks on a wide screen.
func TestNarrow(t *testing.T) {
	page := serve(t, sample(t), "", nil)
	for _, hash := range []string{
		"#/fields/apps/Deployment/spec.replicas", "#/people", "#/people/user/ops/apps/Deployment",
		"#/denials/d1", "#/fields?grant=1", "#/tenants/books",
	} {
		for _, width := range []int64{420, 1280, 2560} {
			page.size(width, 800)
			page.visit(hash)
			page.until("document.querySelector('.list .row') !== null")
			if got := eval[int64](page, "document.documentElement.scrollWidth"); got > width {
				t.Errorf("%s is %d wide at %d", hash, got, width)
			}
		}
	}
}

// TestRoles sees that the parts of the page have the roles that screen readers know.
func TestRoles(t *testing.T) {
	page := serve(t, sample(t), "#/fields/apps/Deployment", nil)
	roles := func() []string {
		return eval[[]string](page, "[...new Set([...document.querySelectorAll('[role]')].map(e => e.getAttribute('role')))]")
	}
	for hash, want := range map[string][]string{
		"#/fields/apps/Deployment": {"tree", "treeitem", "treegrid", "row", "gridcell", "status", "combobox"},
		"#/people":                 {"listbox", "option", "grid", "columnheader", "rowheader", "gridcell", "status"},
		"#/denials":                {"grid", "row", "gridcell", "status"},
		"#/tenants/books":          {"grid", "row", "gridcell", "status"},
	} {
		page.visit(hash)
		page.until("document.querySelector('.pane .row') !== null")
		for _, role := range want {
			if !slices.Contains(roles(), role) {
				t.Errorf("%s has no %s: %v", hash, role, roles())
			}
		}
		bare := eval[[]string](page, `[...document.querySelectorAll("input, select, textarea, button, [role=grid], [role=tree]")]
			.filter(e => !e.getAttribute("aria-label") && !e.textContent.trim() && !e.closest("label")).map(e => e.outerHTML)`)
		if len(bare) > 0 {
			t.Errorf("%s has controls without a name: %v", hash, bare)
		}
	}
}

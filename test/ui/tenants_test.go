// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestTenants looks at all tenants, at one, and from it at a person, and comes to the view by the keyboard and by the
// search.
func TestTenants(t *testing.T) {
	page := serve(t, sample(t), "", nil)
	page.click("#tabs a", "Tenants")
	page.shows(".pane h2", "2 tenants")
	for _, text := range []string{"books", "3 users, 1 manager, 2 sudoers", "4711", "◇2", "●2", "▲2", "ready: no: NotGranted"} {
		page.shows(".pane .row", text)
	}
	page.click(".pane .row", "books")
	for _, text := range []string{
		"on request, for 2h at most, and somebody else approves", "serviceaccount ci/robot", "2026-11-28T17:00:00Z◇", "sudoers not granted",
		"restore the database, TICKET-1", "Granted until 2026-11-27T13:00:00Z by ops", "<b>please</b>", "4242", "now", "RoleBinding backdoor",
		"eve", "? not known",
	} {
		page.shows(".detail", text)
	}
	page.click(".detail td a", "group devs")
	page.shows(".pane h2", "group devs")
	page.keys("4")
	page.until("document.activeElement.matches('[role=grid]')")
	page.keys(kb.ArrowDown, kb.Enter)
	page.shows(".detail h2", "shop")
	page.shows(".detail", "no account was billed")
	page.shows("#live", "tenant shop: 0 users, 1 manager, 0 sudoers")
	page.keys("/", "books", kb.Enter)
	page.shows(".detail h2", "books")
	// A filter finds people and accounts, too.
	for filter, want := range map[string]string{"robot": "1 tenant", "4711": "1 tenant", "user:ops": "2 tenants", "nobody": "0 tenants"} {
		page.visit("#/tenants?q=" + filter)
		page.shows(".pane h2", want)
	}
	page.visit("#/tenants/nonsense")
	page.shows(".detail", "No tenant has this address.")
}

// TestTenantsUnknown sees that what could not be read is said, and that a cluster without the kind has no such view.
func TestTenantsUnknown(t *testing.T) {
	snapshot := sample(t)
	snapshot["unknown"] = []any{map[string]any{"what": "sudorequests", "except": []any{"shop"}, "why": "forbidden <i>"}}
	books := snapshot["tenants"].([]any)[0].(map[string]any)
	delete(books, "requests")
	page := serve(t, snapshot, "#/tenants/books", nil)
	page.shows(".side", "? sudorequests can't be read except in shop: forbidden <i>")
	page.shows(".detail", "? not known")
	page.visit("#/tenants/shop")
	page.until("document.querySelector('.detail h2').innerText.startsWith('shop')")
	if got := page.shown(".detail"); strings.Contains(got, "? not known") {
		t.Errorf("requests that could be read are unknown:\n%s", got)
	}

	snapshot = sample(t)
	delete(snapshot["about"].(map[string]any), "tenants")
	delete(snapshot, "tenants")
	page = serve(t, snapshot, "#/tenants", nil)
	page.shows(".side", "Deployment")
	page.until("[...document.querySelectorAll('#tabs a')].filter(a => a.checkVisibility()).length === 3")
	page.keys("4")
	page.keys("3")
	page.shows(".pane h2", "Refused requests")
}

// TestTenantsOnlyRead uses all of the view, and sees that the page asks its server for nothing but the data.
func TestTenantsOnlyRead(t *testing.T) {
	page := serve(t, sample(t), "#/tenants/books", nil)
	page.shows(".detail h2", "books")
	page.click(".pane .row", "shop")
	page.shows(".detail h2", "shop")
	for _, name := range eval[[]string](page, "performance.getEntriesByType('resource').map(e => new URL(e.name).pathname)") {
		if name != "/api/snapshot" && name != "/api/denials" {
			t.Errorf("the page asked for %s", name)
		}
	}
	if controls := eval[int](page, "document.querySelectorAll('#main button, #main form').length"); controls != 0 {
		t.Errorf("the view has %d controls that could change something", controls)
	}
}

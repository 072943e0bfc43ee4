// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// steps is a script that operates the page of explain by keyboard in a browser. It writes the
// names of all checks that failed into the title.
const steps = `<script>
"use strict";
addEventListener("load", () => {
  const wrong = [];
  const holds = (what, is) => { if (!is) wrong.push(what); };
  const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  const type = (text) => { search.value = text; search.dispatchEvent(new Event("input", {bubbles: true})); };
  const at = () => document.activeElement;
  holds("a kind is shown at once", main.querySelectorAll("[role=treeitem]").length > 5);
  holds("all kinds are listed", nav.children.length > 40);
  press("/");
  holds("/ goes to the search", at() === search);
  type("deployment granular:podTemplateImage");
  const hits = [...main.querySelectorAll(".hit")];
  holds("the search finds the images of containers", hits.some(h => h.textContent.includes("spec.template.spec.containers[*].image")));
  holds("the search finds nothing else", hits.every(h => h.textContent.includes("granular:podTemplateImage")));
  press("ArrowDown");
  holds("the arrow goes to the first hit", at() === hits[0]);
  press("ArrowUp");
  holds("and back", at() === search);
  type("nothing is called like this");
  holds("no hit is said", main.textContent.includes("0 fields"));
  press("Escape");
  holds("Escape leaves the search", search.value === "" && main.querySelector("[role=tree]"));
  [...nav.children].find(a => a.textContent.startsWith("Secret ")).click();
  route();
  holds("a click shows a kind", main.querySelector("h2").textContent.startsWith("Secret"));
  press("Escape");
  main.querySelector("[role=treeitem]").focus();
  press("End");
  const last = at();
  press("Home");
  holds("Home and End move", last !== at() && at() === main.querySelector("[role=treeitem]"));
  const before = main.querySelectorAll("[role=treeitem]").length;
  press("Home");
  while (at().getAttribute("aria-expanded") !== "true" && at().nextElementSibling) press("ArrowDown");
  press("ArrowLeft");
  holds("left closes", at().getAttribute("aria-expanded") === "false" && main.querySelectorAll("[role=treeitem]").length < before);
  press("ArrowRight");
  holds("right opens", at().getAttribute("aria-expanded") === "true" && main.querySelectorAll("[role=treeitem]").length === before);
  press("Enter");
  holds("Enter tells of a field", at().querySelector(":scope > .more").textContent.includes("most general first"));
  const light = getComputedStyle(document.body).backgroundColor;
  document.getElementById("theme").click();
  holds("light and dark differ", getComputedStyle(document.body).backgroundColor !== light);
  document.getElementById("theme").click();
  holds("and change back", getComputedStyle(document.body).backgroundColor === light);
  location.hash = "#" + encodeURIComponent("Deployment.apps spec.template.spec.containers[*].image");
  route();
  holds("a link leads to a field", at().dataset.path === "spec.template.spec.containers[*].image");
  holds("nothing was loaded", performance.getEntriesByType("resource").filter(r => !r.name.startsWith("data:")).length === 0);
  document.title = "driven: " + (wrong.join("; ") || "all held");
});
</script>`

// TestPageInBrowser runs steps on the page of all kinds in a browser, and takes screenshots.
func TestPageInBrowser(t *testing.T) {
	page, errs, err := granular(t, "", "explain", "-o", "html")
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	drive(t, page, steps, "")
}

// drive checks that a page loads nothing from the network, and that a script that runs in it in
// a browser reports no failed check. The names of the screenshots begin with prefix.
func drive(t *testing.T, page, script, prefix string) {
	t.Helper()
	if found := regexp.MustCompile(`(?i)(src|href)\s*=\s*["']?(https?:)?//`).FindString(page); found != "" {
		t.Errorf("the page refers to the network: %s", found)
	}
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if file, err := exec.LookPath(name); err == nil {
			browser = file
			break
		}
	}
	if browser == "" {
		t.Skip("no browser: the page was written and not driven; on Debian, apt-get install chromium")
	}
	dir := t.TempDir()
	if kept := os.Getenv("KUBE_GRANULAR_PICTURES"); kept != "" {
		dir = kept
	}
	plain, driven := filepath.Join(dir, prefix+"page.html"), filepath.Join(dir, prefix+"driven.html")
	if err := os.WriteFile(plain, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(driven, []byte(strings.Replace(page, "</body>", script+"</body>", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	show := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), browser, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,800", "--user-data-dir=" + t.TempDir()}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %s: %v", browser, strings.Join(args, " "), err)
		}
		return string(out)
	}
	title := regexp.MustCompile(`<title>([^<]*)</title>`).FindStringSubmatch(show("--dump-dom", "file://"+driven))
	if title == nil || title[1] != "driven: all held" {
		t.Errorf("the page, driven: %q", title)
	}
	for name, flag := range map[string]string{"light.png": "--disable-features=Dummy", "dark.png": "--force-dark-mode"} {
		picture := filepath.Join(dir, prefix+name)
		show(flag, "--screenshot="+picture, "file://"+plain)
		if info, err := os.Stat(picture); err != nil || info.Size() < 10_000 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

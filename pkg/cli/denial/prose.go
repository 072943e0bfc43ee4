// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"regexp"
	"strconv"
	"strings"

	"kube-granular.dev/pkg/refusal"
)

// The message of a refusal is all that kubectl prints, and all that older servers send.

const quoted = `"(?:[^"\\]|\\.)*"`

var (
	forbiddenPattern = regexp.MustCompile(`^([a-z0-9.-]+)(?: (` + quoted + `))? is forbidden: (.*)`)
	webhookPattern   = regexp.MustCompile(`^admission webhook ` + quoted + ` denied the request`)
	cannotPattern    = regexp.MustCompile(`^User (` + quoted + `) (?:cannot|can't) (.*)$`)
	fieldPattern     = regexp.MustCompile(`^change ((?:` + quoted +
		`|[^"])+?)(?: (?:in|of) version \S+(?: \(version \S+ may not show it\))?)?(?: in namespace ("[^"]*"))?(?: through ("[^"]*"))?(?:, a protected (label|annotation))?: (.*)$`)
	ordinaryPattern  = regexp.MustCompile(`^(\S+) resource "([^"]*)" in API group "([^"]*)"(?: (?:in the namespace ("[^"]*")|at the cluster scope))?(?:: (.*))?`)
	wholePattern     = regexp.MustCompile(`^write it(?: in namespace ("[^"]*"))?(?: through ("[^"]*"))?: (.*)$`)
	grantPattern     = regexp.MustCompile(`^user (` + quoted + `) \(groups=.*?\) is attempting to grant RBAC permissions not currently held: ?(.*)$`)
	bindPattern      = regexp.MustCompile(`^needs the verb "bind" on .*$`)
	verbPattern      = regexp.MustCompile(`"(granular:(?:[^"\\]|\\.)*)"`)
	togetherPattern  = regexp.MustCompile(`^needs (both|all) of the verbs `)
	rolePattern      = regexp.MustCompile(`\b(Role|ClusterRole) (` + quoted + `)`)
	entryPattern     = regexp.MustCompile(` \(excluded by FieldPermission ([a-z0-9.-]+)\)$`)
	protectedPattern = regexp.MustCompile(`, for it is protected in namespace ("[^"]*")$`)
)

// Parse parses the refusals in a text, such as the output of kubectl or a log, and returns each once.
func Parse(text string) ([]*Denial, error) {
	if strings.TrimSpace(text) == "" {
		return nil, ErrEmpty
	}
	if d := statusIn(strings.TrimSpace(text)); d != nil {
		return []*Denial{d}, nil
	}
	all := refusals(text, 0)
	if len(all) == 0 {
		return nil, ErrNotADenial
	}
	return all, nil
}

// parse parses the message of one refusal.
func parse(text string) (*Denial, error) {
	if webhookPattern.MatchString(text) {
		return &Denial{Admission: true, Why: text}, nil
	}
	m := forbiddenPattern.FindStringSubmatch(text)
	if m == nil {
		return nil, ErrNotADenial
	}
	out := &Denial{Resource: m[1], Name: unquote(m[2])}
	why := strings.TrimPrefix(m[3], "User ")
	if c := cannotPattern.FindStringSubmatch(m[3]); c != nil {
		out.User = unquote(c[1])
		if out.cannot(c[2]) {
			return out, nil
		}
		why = "cannot " + c[2]
	} else if w, ok := strings.CutPrefix(m[3], "can't "); ok && out.cannot(w) {
		return out, nil
	}
	if g := grantPattern.FindStringSubmatch(m[3]); g != nil {
		out.User, out.Grant, out.Why = unquote(g[1]), true, g[2]
		return out, nil
	}
	if bindPattern.MatchString(m[3]) {
		out.Grant, out.Why = true, m[3]
		return out, nil
	}
	if isSelection(why) {
		out.Why = why
		return out, nil
	}
	// A refusal by authorization names the user. Everything else comes from admission, or from the
	// code that stores the object.
	if strings.HasPrefix(m[3], "User ") || strings.HasPrefix(m[3], "user ") || strings.HasPrefix(m[3], "can't ") {
		return nil, ErrNotADenial
	}
	out.Admission, out.Why = true, m[3]
	return out, nil
}

// cannot parses what the caller cannot do. It returns false if the text has no known form.
func (d *Denial) cannot(text string) bool {
	if f := fieldPattern.FindStringSubmatch(text); f != nil {
		d.Field, d.Namespace, d.Protected = f[1], unquote(f[2]), f[4]
		_, d.Subresource, _ = strings.Cut(unquote(f[3]), "/")
		d.needs(f[5])
		return true
	}
	if o := ordinaryPattern.FindStringSubmatch(text); o != nil {
		d.Ordinary, d.Namespace, d.Why = o[1], unquote(o[4]), o[5]
		_, d.Subresource, _ = strings.Cut(o[2], "/")
		return true
	}
	if w := wholePattern.FindStringSubmatch(text); w != nil {
		d.Namespace, d.Why = unquote(w[1]), w[3]
		_, d.Subresource, _ = strings.Cut(unquote(w[2]), "/")
		return true
	}
	return false
}

// needs parses what the change of a field needs.
func (d *Denial) needs(text string) {
	if m := entryPattern.FindStringSubmatch(text); m != nil {
		d.FieldPermission = m[1]
		text = strings.TrimSuffix(text, m[0])
	}
	text, d.Removed = strings.CutSuffix(text, refusal.RemovedText)
	text, d.Derived = strings.CutSuffix(text, refusal.DerivedText)
	first, rest := "", text
	if togetherPattern.MatchString(text) {
		first, rest, _ = strings.Cut(text, ", or the verb ")
	}
	d.Together = verbsIn(first)
	if d.Verbs = verbsIn(rest); len(d.Together) > 0 {
		d.Verbs = append(d.Together[:1:1], d.Verbs...)
	}
	if d.Protected != "" {
		for _, m := range rolePattern.FindAllStringSubmatch(text, -1) {
			d.Roles = append(d.Roles, Role{m[1], unquote(m[2])})
		}
		if m := protectedPattern.FindStringSubmatch(text); m != nil {
			d.ProtectedIn = unquote(m[1])
		}
	}
	if len(d.Verbs)+len(d.Roles) == 0 || !strings.HasPrefix(text, "needs ") {
		d.Why = text
	}
}

// verbsIn returns the quoted permission verbs in a text.
func verbsIn(text string) []string {
	var out []string
	for _, m := range verbPattern.FindAllStringSubmatch(text, -1) {
		out = append(out, unquote(`"`+m[1]+`"`))
	}
	return out
}

func unquote(text string) string {
	out, err := strconv.Unquote(text)
	if err != nil {
		return strings.Trim(text, `"`)
	}
	return out
}

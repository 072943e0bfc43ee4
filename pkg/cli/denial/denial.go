// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Denial is a refused request.
type Denial struct {
	// Resource has the form deployments.apps.
	Resource string `json:"resource"`
	// Subresource is the subresource of the request, such as status or scale.
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	User        string `json:"user,omitempty"`
	// Field is the path of the field that the caller may not change. It is empty if the request
	// was refused as a whole, for lack of an ordinary verb such as update.
	Field string `json:"field,omitempty"`
	// Verbs are the verbs that the refusal names, the narrowest one first. Each of them would allow
	// the change of Field.
	Verbs []string `json:"verbs,omitempty"`
	// Together are the verbs that are needed instead of the first of Verbs alone, such as one for the
	// old value of Field and one for the new value. It is empty if the first of Verbs suffices.
	Together []string `json:"together,omitempty"`
	// Ordinary is the ordinary verb that the caller lacks, such as update, if the request was
	// refused as a whole. It is empty for a refusal of a field.
	Ordinary string `json:"ordinary,omitempty"`
	// Protected is label or annotation if Field is protected, so that the caller needs one of
	// Verbs or Roles even if it holds update.
	Protected string `json:"protected,omitempty"`
	// Roles are the roles that a caller must be bound to, if Field is protected. One is enough.
	Roles []Role `json:"roles,omitempty"`
	// ProtectedIn is the namespace of the protected attribute. If it is empty, the label or
	// annotation is protected in the whole cluster.
	ProtectedIn string `json:"protectedIn,omitempty"`
	// FieldPermission is the name of the FieldPermission that excludes Field from the ordinary verbs.
	FieldPermission string `json:"fieldPermission,omitempty"`
	// Removed is true if the request removes Field. A client that does not know the field does that.
	Removed bool `json:"removed,omitempty"`
	// Why is the server's reason, if it is not just that the caller needs one of Verbs or Roles.
	Why string `json:"why,omitempty"`
	// Admission is true if the request was authorized and refused later, as by a policy, a webhook or a
	// quota. Why is what was said.
	Admission bool `json:"admission,omitempty"`
	// Grant is true if the caller wanted to grant what it does not hold itself.
	Grant bool `json:"grant,omitempty"`
}

// Role is a role that a protected label or annotation requires.
type Role struct {
	// Kind is Role or ClusterRole.
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// ErrNotADenial means that a text contains no refusal in a known form.
var ErrNotADenial = errors.New(`the text is not a known refusal; a refusal has the form: deployments.apps "web" is forbidden: User "jane" cannot change .spec.replicas in namespace "shop": needs the verb "granular:replicas"`)

// ErrEmpty means that there is no text.
var ErrEmpty = errors.New(`the input is empty; kubectl prints refusals on standard error: kubectl ... 2>&1 | kubectl granular explain-denial`)

// removedText is the end of a refusal of a request that removes a field that a FieldPermission excludes.
const removedText = "; the request removes it"

const quoted = `"(?:[^"\\]|\\.)*"`

var (
	forbiddenPattern = regexp.MustCompile(`^([a-z0-9.-]+)(?: (` + quoted + `))? is forbidden: (.*)`)
	webhookPattern   = regexp.MustCompile(`^admission webhook ` + quoted + ` denied the request`)
	cannotPattern    = regexp.MustCompile(`^User (` + quoted + `) cannot (.*)$`)
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
		text, d.Removed = strings.CutSuffix(strings.TrimSuffix(text, m[0]), removedText)
	}
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

// Write reports whether the ordinary verb of the refusal writes fields, so that permissions of
// fields can replace it.
func (d *Denial) Write() bool {
	return slices.Contains([]string{"create", "update", "patch"}, d.Ordinary)
}

func unquote(text string) string {
	out, err := strconv.Unquote(text)
	if err != nil {
		return strings.Trim(text, `"`)
	}
	return out
}

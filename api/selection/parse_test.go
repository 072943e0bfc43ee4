// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	view := ClusterRole("view")
	for text, want := range map[string]*SelectedAuthority{
		`{"authorityReference":{"kind":"ClusterRole","name":"view"}}`: view,
		` { "kind":"SelectedAuthority", "apiVersion":"authorization.k8s.io/v1", "authorityReference":{"name":"view","kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1"} } `: view,
		`{"apiVersion":"authority.kube-granular.dev/v1alpha1","authorityReference":{"kind":"ClusterRole","name":"view"}}`:                                                                 view,
		`{"authorityReference":{"kind":"ClusterRole","name":"system:a<b>é"}}`:                                                                                                             ClusterRole("system:a<b>é"),
		`{"authorityReference":{"kind":"Role","namespace":"shop","name":"deployer"}}`:                                                                                                     Role("shop", "deployer"),
		`{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`:                                                                                                                {AuthorityReference: AuthorityReference{Kind: AuthorityDelegationKind, Name: "d"}},
		`{"authorityReference":{"kind":"AuthorityDelegation","uid":"0000-0"}}`:                                                                                                            {AuthorityReference: AuthorityReference{Kind: AuthorityDelegationKind, UID: "0000-0"}},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		short, err := got.Text()
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		wantShort, err := want.Text()
		if err != nil || short != wantShort {
			t.Errorf("%s: %s, wanted %s, error %v", text, short, wantShort, err)
		}
		if again, err := Parse(short); err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%s: %+v, error %v", short, again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, says := range map[string]string{
		``:                            "unexpected end",
		`null`:                        "kind must be",
		`[]`:                          "cannot unmarshal",
		`{}`:                          "kind must be",
		`view`:                        "invalid character",
		`{"authorityReference":null}`: "kind must be",
		`{"authorityReference":{"kind":"ClusterRole"}}`:                                                                     "name is missing",
		`{"authorityReference":{"kind":"Role","name":"r"}}`:                                                                 "namespace",
		`{"authorityReference":{"kind":"Role","namespace":"A","name":"r"}}`:                                                 "namespace",
		`{"authorityReference":{"kind":"ClusterRole","namespace":"a","name":"r"}}`:                                          "for the kind Role",
		`{"authorityReference":{"kind":"ClusterRole","name":"r","uid":"u"}}`:                                                "for the kind AuthorityDelegation",
		`{"authorityReference":{"kind":"AuthorityDelegation"}}`:                                                             "name or uid",
		`{"authorityReference":{"kind":"AuthorityDelegation","uid":"\u0000"}}`:                                              "not a valid UID",
		`{"authorityReference":{"kind":"User","name":"r"}}`:                                                                 "kind must be",
		`{"authorityReference":{"kind":"clusterrole","name":"r"}}`:                                                          "kind must be",
		`{"authorityReference":{"kind":"ClusterRole","name":"a/b"}}`:                                                        "not a valid name",
		`{"authorityReference":{"kind":"ClusterRole","name":".."}}`:                                                         "not a valid name",
		`{"authorityReference":{"kind":"ClusterRole","name":"a\nb"}}`:                                                       "not a valid name",
		`{"authorityReference":{"kind":"ClusterRole","name":"a\u007f"}}`:                                                    "not a valid name",
		`{"authorityReference":{"kind":"ClusterRole","name":"a\ud800"}}`:                                                    "not a valid name",
		`{"authorityReference":{"kind":"ClusterRole","name":"r","apiVersion":"v1"}}`:                                        "apiVersion",
		`{"apiVersion":"v1","authorityReference":{"kind":"ClusterRole","name":"r"}}`:                                        "apiVersion",
		`{"kind":"Pod","authorityReference":{"kind":"ClusterRole","name":"r"}}`:                                             "kind must be empty",
		`{"authorityReference":{"kind":"ClusterRole","name":"r"},"metadata":{}}`:                                            "unknown field",
		`{"authorityReference":{"kind":"ClusterRole","name":"r","group":""}}`:                                               "unknown field",
		`{"authorityReference":{"kind":"ClusterRole","name":"r","name":"s"}}`:                                               "duplicate field",
		`{"authorityReference":{"kind":"ClusterRole","name":"r"},"authorityReference":{}}`:                                  "duplicate field",
		`{"authorityReference":{"Kind":"ClusterRole","name":"r"}}`:                                                          "unknown field",
		`{"authorityReference":{"kind":"ClusterRole","name":"r"}} {}`:                                                       "after top-level",
		`{"authorityReference":{"kind":"ClusterRole","name":"r"}},{"authorityReference":{"kind":"ClusterRole","name":"s"}}`: "after top-level",
		`{"authorityReference":{"kind":"ClusterRole","name":"` + "\xff" + `"}}`:                                             "UTF-8",
		`{"authorityReference":{"kind":"ClusterRole","name":"` + strings.Repeat("r", MaxLength) + `"}}`:                     "longer than",
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, error %v, wanted one with %q", text, got, err, says)
		}
	}
}

// TestLength holds that Text returns, and Parse accepts, a value of the maximum length, and that
// Text returns an error for one byte more.
func TestLength(t *testing.T) {
	empty, err := ClusterRole("r").Text()
	if err != nil {
		t.Fatal(err)
	}
	longest := ClusterRole(strings.Repeat("r", MaxLength-len(empty)+1))
	text, err := longest.Text()
	if err != nil || len(text) != MaxLength {
		t.Fatal(len(text), err)
	}
	if _, err := Parse(text); err != nil {
		t.Error(err)
	}
	if _, err := ClusterRole(longest.AuthorityReference.Name + "r").Text(); err == nil {
		t.Error("one byte more was accepted")
	}
	if _, err := ClusterRole("").Text(); err == nil {
		t.Error("a selection without a name has a text")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"authorityReference":{"kind":"ClusterRole","name":"view"}}`)
	f.Add(`{"kind":"SelectedAuthority","authorityReference":{"kind":"Role","namespace":"n","name":"<&>"}}`)
	f.Add(`{"authorityReference":{"kind":"AuthorityDelegation","uid":"u"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		short, err := s.Text()
		if err != nil {
			if len(short) <= MaxLength {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if strings.ContainsFunc(short, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("%q can't be sent in a header", short)
		}
		again, err := Parse(short)
		if err != nil {
			t.Fatalf("%q: %v", short, err)
		}
		if twice, err := again.Text(); err != nil || twice != short {
			t.Fatalf("%q: %q, error %v", short, twice, err)
		}
	})
}

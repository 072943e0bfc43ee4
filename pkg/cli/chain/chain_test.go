// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/pkg/cli/auditlog"
)

var update = flag.Bool("update", false, "write the golden files, and fail")

func print(t *testing.T, log io.Reader, f Filter, format string) (string, Counts, []string) {
	t.Helper()
	var out bytes.Buffer
	p, err := NewPrinter(format, &out)
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	n, err := Read("log", log, &f, p, func(err error) { warnings = append(warnings, err.Error()) })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String(), n, warnings
}

func logFile(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestChainFormats holds the output for a log in each format, by comparison with golden files.
func TestChainFormats(t *testing.T) {
	for name, tc := range map[string]struct {
		format string
		filter Filter
	}{
		"table":    {"table", Filter{}},
		"wide":     {"wide", Filter{}},
		"all":      {"table", Filter{All: true, Running: true}},
		"json":     {"json", Filter{}},
		"yaml":     {"yaml", Filter{Delegation: "91aa"}},
		"nothing":  {"json", Filter{User: "nobody"}},
		"nothing2": {"yaml", Filter{User: "nobody"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, warnings := print(t, bytes.NewReader(logFile(t)), tc.filter, tc.format)
			if len(warnings) > 0 {
				t.Error(warnings)
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				t.Fatal("wrote", golden, "- look at it, and run the test without -update")
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got (-update writes it):\n%s", diff)
			}
		})
	}
}

// TestChainDocuments holds that the JSON output and the YAML output are a single document each,
// with the same records.
func TestChainDocuments(t *testing.T) {
	for _, f := range []Filter{{}, {User: "nobody"}} {
		var asJSON, asYAML struct{ Items []Record }
		text, n, _ := print(t, bytes.NewReader(logFile(t)), f, "json")
		if err := json.Unmarshal([]byte(text), &asJSON); err != nil {
			t.Fatal(err)
		}
		text, _, _ = print(t, bytes.NewReader(logFile(t)), f, "yaml")
		if err := yaml.Unmarshal([]byte(text), &asYAML); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(asJSON, asYAML); diff != "" || len(asJSON.Items) != n.Printed || asJSON.Items == nil {
			t.Errorf("%+v: %d records of %d, -JSON +YAML:\n%s", f, len(asJSON.Items), n.Printed, diff)
		}
	}
}

// TestChainFilter holds which records each filter selects. Records are named by the audit IDs of
// their events.
func TestChainFilter(t *testing.T) {
	at := func(text string) time.Time {
		out, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const sa = "system:serviceaccount:"
	for _, tc := range []struct {
		name   string
		filter Filter
		want   string
	}{
		{"none", Filter{}, "3 4 5 6 7 8 9 10 12 13 14"},
		{"all", Filter{All: true}, "1 3 4 5 6 7 8 9 10 12 13 14"},
		{"running", Filter{Running: true}, "3 4 5 6 7 8 9 10 11 12 13 14"},
		{"whose authority it is", Filter{User: "alice"}, "3 6 7 12"},
		{"who handed it on", Filter{User: sa + "kube-system:deployment-controller"}, "6 7"},
		{"the caller", Filter{User: sa + "kube-system:replicaset-controller"}, "7 8"},
		{"who impersonates", Filter{User: "root"}, "5 9"},
		{"who is impersonated", Filter{User: "bob"}, "9 10"},
		{"impersonated under a delegation", Filter{User: "ci"}, "10"},
		{"a name that was cut", Filter{User: strings.Repeat("u", 300)}, "14"},
		{"another long name", Filter{User: strings.Repeat("u", 252) + strings.Repeat("v", 40)}, ""},
		{"a short name is not a cut one", Filter{User: strings.Repeat("u", 254)}, ""},
		{"resource", Filter{Resource: "pods"}, "7 8 9 10 13 14"},
		{"resource of no such group", Filter{Resource: "pods.apps"}, ""},
		{"resource and group", Filter{Resource: "deployments.apps"}, "3"},
		{"resource without its group", Filter{Resource: "replicasets"}, "6"},
		{"core group", Filter{Resource: "pods."}, "7 8 9 10 13 14"},
		{"subresource", Filter{Resource: "pods/log"}, "14"},
		{"no subresource", Filter{Resource: "pods/"}, "7 8 9 10 13"},
		{"namespace", Filter{Namespace: "shop", Resource: "secrets"}, "4"},
		{"another namespace", Filter{Namespace: "other"}, ""},
		{"name", Filter{Name: "n1"}, "5"},
		{"delegation by name", Filter{Delegation: "implicit-4f1c"}, "3 6 7"},
		{"delegation by UID", Filter{Delegation: "91aa"}, "6 7"},
		{"delegation that was selected and refused", Filter{Delegation: "implicit-91aa"}, "6 7 8"},
		{"a token's pod is no delegation", Filter{Delegation: "Pod/controller-0"}, ""},
		{"since", Filter{Since: at("2026-11-23T08:09:00Z")}, "10 12 13 14"},
		{"until", Filter{Until: at("2026-11-23T08:04:00Z")}, "3 4"},
		{"between", Filter{Since: at("2026-11-23T08:04:00Z"), Until: at("2026-11-23T08:05:00Z")}, "5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, n, _ := print(t, bytes.NewReader(logFile(t)), tc.filter, "json")
			var got struct{ Items []Record }
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, r := range got.Items {
				ids = append(ids, strings.TrimLeft(r.AuditID, "0"))
			}
			if have := strings.Join(ids, " "); have != tc.want || n.Printed != len(ids) || n.Events != 14 {
				t.Errorf("%s, wanted %s, counts %+v", have, tc.want, n)
			}
		})
	}
}

// TestChainOfTheRequest holds that the token of the request appears once in the chain, whether or
// not the server wrote it there, and that the same token before a delegation, by which the
// delegation was created, is another entry.
func TestChainOfTheRequest(t *testing.T) {
	const (
		token     = `{\"via\":\"Token\",\"by\":\"system:serviceaccount:n:a\"}`
		delegated = `{\"via\":\"Delegation\",\"by\":\"system:serviceaccount:n:a\",\"name\":\"d\"}`
		event     = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","requestURI":"/x?y","objectRef":{"name":"n"},"user":{"username":"system:serviceaccount:n:a","extra":{"authentication.kubernetes.io/credential-id":["JTI=1"]}},"annotations":{"authority.kube-granular.dev/chain":"[%s]"}}`
	)
	for chain, want := range map[string]string{
		"":                                    "Token",
		token:                                 "Token",
		delegated:                             "Delegation Token",
		token + "," + delegated:               "Token Delegation Token",
		delegated + "," + token:               "Delegation Token",
		token + "," + delegated + "," + token: "Token Delegation Token",
	} {
		r, err := decode([]byte(fmt.Sprintf(event, chain)))
		if err != nil {
			t.Fatal(err)
		}
		var via []string
		for _, e := range r.Chain {
			via = append(via, e.Via)
		}
		if got := strings.Join(via, " "); got != want {
			t.Errorf("[%s]: %s, wanted %s", chain, got, want)
		}
		// The objectRef of the event has no resource, so the record has the path instead.
		if r.Object != nil || r.URI != "/x?y" {
			t.Errorf("object %+v, path %q", r.Object, r.URI)
		}
	}
}

// TestChainCompressed holds that a log that was compressed by gzip gives the same output as the
// log before compression, and that a truncated gzip file is an error.
func TestChainCompressed(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(logFile(t)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want, _, _ := print(t, bytes.NewReader(logFile(t)), Filter{}, "table")
	if got, _, _ := print(t, bytes.NewReader(packed.Bytes()), Filter{}, "table"); got != want || got == "" {
		t.Errorf("%s, wanted %s", got, want)
	}
	p, err := NewPrinter("table", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read("log", bytes.NewReader(packed.Bytes()[:packed.Len()/2]), &Filter{}, p, func(error) {}); err == nil {
		t.Error("a log that is cut off was read without an error")
	}
}

// TestChainUnreadable holds that a line that can't be read causes one warning with the number of
// the line, that the warning contains no data of the line, and that all other lines are read.
func TestChainUnreadable(t *testing.T) {
	const event = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a","stage":"ResponseComplete","user":{"username":"u"},"annotations":{%s}}`
	good := fmt.Sprintf(event, `"authority.kube-granular.dev/selected":"{\"authorityReference\":{\"kind\":\"ClusterRole\",\"name\":\"view\"}}"`)
	for name, tc := range map[string]struct{ line, says string }{
		"no JSON":          {`secret`, "line 2: it is not an event"},
		"another document": {`{"kind":"Pod","apiVersion":"v1","data":"secret"}`, "line 2: it is not an event"},
		"a list": {`{"kind":"EventList","apiVersion":"audit.k8s.io/v1"}`,
			"line 2: it is not an event"},
		"a version unknown": {`{"kind":"Event","apiVersion":"audit.k8s.io/v2"}`, "line 2: it is not an event"},
		"a field of its own": {`{"kind":"Event","apiVersion":"audit.k8s.io/v1","user":{"username":{"secret":1}}}`,
			`field "user.username"`},
		"a selection unknown": {fmt.Sprintf(event, `"authority.kube-granular.dev/selected":"{}"`),
			": annotation authority.kube-granular.dev/selected"},
		"a chain unknown": {fmt.Sprintf(event, `"authority.kube-granular.dev/chain":"secret"`),
			": annotation authority.kube-granular.dev/chain"},
		"a delegation": {fmt.Sprintf(event, `"authority.kube-granular.dev/delegation":"secret"`),
			": annotation authority.kube-granular.dev/delegation"},
		"a line too long": {`{"kind":"Event","x":"` + strings.Repeat("x", auditlog.MaxLine) + `"}`,
			"line 2: the line is longer than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, n, warnings := print(t, strings.NewReader(good+"\n"+tc.line+"\n\n"+good+"\n"), Filter{}, "table")
			if n != (Counts{Events: 2, Printed: 2, Unread: 1}) || len(warnings) != 1 || !strings.Contains(warnings[0], tc.says) || strings.Contains(warnings[0], "secret") {
				t.Errorf("%+v, warnings %q", n, warnings)
			}
		})
	}
	// An incomplete last line, which a server may still be writing, is not counted as unreadable.
	_, n, warnings := print(t, strings.NewReader(good+"\n"+good[:len(good)/2]), Filter{}, "table")
	if n != (Counts{Events: 1, Printed: 1}) || len(warnings) != 1 || !strings.Contains(warnings[0], "incomplete") {
		t.Errorf("%+v, warnings %q", n, warnings)
	}
	// A complete last line counts even if it does not end in a newline.
	if _, n, warnings := print(t, strings.NewReader(good+"\n"+good), Filter{}, "table"); n.Printed != 2 || len(warnings) > 0 {
		t.Errorf("%+v, warnings %q", n, warnings)
	}
}

// TestChainAsItComes holds that the record of a line is printed before the log has the next line.
func TestChainAsItComes(t *testing.T) {
	in, log := io.Pipe()
	read, out := io.Pipe()
	p, err := NewPrinter("table", out)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Read("log", in, &Filter{}, p, func(error) {})
		done <- errors.Join(err, out.Close())
	}()
	lines := bytes.SplitAfter(logFile(t), []byte("\n"))
	go log.Write(lines[4])
	seen := make([]byte, 0, 4096)
	for !bytes.Contains(seen, []byte("ClusterRole/view")) {
		part := make([]byte, 512)
		n, err := read.Read(part)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, part[:n]...)
	}
	go io.Copy(io.Discard, read)
	log.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// repeated is a reader for a log of many equal lines, which is never complete in memory.
type repeated struct {
	line []byte
	left int
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.at == len(r.line) {
		r.at = 0
		if r.left--; r.left == 0 {
			return 0, io.EOF
		}
	}
	n := copy(p, r.line[r.at:])
	r.at += n
	return n, nil
}

// BenchmarkChain measures reading a log. The allocated bytes for each line show that memory does
// not grow with the log.
func BenchmarkChain(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("testdata", "audit.log"))
	if err != nil {
		b.Fatal(err)
	}
	line := bytes.SplitAfter(data, []byte("\n"))[6]
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	p, err := NewPrinter("json", io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	if n, err := Read("log", &repeated{line: line, left: b.N + 1}, &Filter{User: "nobody"}, p, func(error) {}); err != nil || n.Events < b.N {
		b.Fatal(n, err)
	}
}

func FuzzDecode(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "audit.log"))
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := decode(line)
		if r == nil || err != nil {
			return
		}
		for _, format := range []string{"wide", "json", "yaml"} {
			var out bytes.Buffer
			p, err := NewPrinter(format, &out)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(p.Print(r), p.Close()); err != nil {
				t.Fatal(err)
			}
			if format == "wide" && strings.Count(out.String(), "\n") != 2 || strings.ContainsAny(out.String(), "\x1b\x07\r") {
				t.Fatalf("%s: %q", format, out.String())
			}
		}
	})
}

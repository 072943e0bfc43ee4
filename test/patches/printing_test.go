// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
)

// printers are the parts of the project that print text from clusters and logs.
var printers = []string{"pkg/cli", "pkg/localcluster", "cmd", "tenancy"}

// around maps a file to what it may use of unprinted, with the reason.
var around = map[string]map[string]string{
	"pkg/cli/roles/rules.go":              {"fmt.Fprintf": "it writes into a hash"},
	"pkg/cli/changes/recorder.go":         {"http.Error": "it answers the recorded command"},
	"pkg/cli/changes/recorder_write.go":   {"http.Error": "it answers the recorded command", "w.Write": "it answers the recorded command"},
	"pkg/cli/roletest/format/document.go": {"yaml.Marshal": "the text is parsed again, and not printed"},
	"pkg/cli/ui/serve/answer.go":          {"w.Write": "it answers the page, with escaped JSON"},
	"tenancy/internal/command/run.go":     {"io.Copy": "it discards standard input"},
	"tenancy/config/config.go":            {"yaml.Marshal": "the objects are the manifests of the project"},
}

// unprinted are the functions that print without escaping. A method of a stream is named by the
// usual name of the stream.
var unprinted = map[string]bool{
	"fmt.Print": true, "fmt.Printf": true, "fmt.Println": true, "fmt.Fprint": true, "fmt.Fprintf": true, "fmt.Fprintln": true, "fmt.Append": true,
	"io.WriteString": true, "io.Copy": true, "log.Print": true, "log.Printf": true, "log.Println": true, "log.Fatal": true, "log.Fatalf": true,
	"tabwriter.NewWriter": true, "csv.NewWriter": true, "printers.GetNewTabWriter": true, "json.NewEncoder": true, "json.MarshalIndent": true,
	"yaml.Marshal": true, "yaml.NewEncoder": true, "http.Error": true, "template.New": true,
	"w.Write": true, "w.WriteString": true, "out.Write": true, "out.WriteString": true, "errs.Write": true, "errOut.Write": true,
	"os.Stdout.Write": true, "os.Stdout.WriteString": true, "os.Stderr.Write": true, "os.Stderr.WriteString": true,
	"cmd.Print": true, "cmd.Printf": true, "cmd.Println": true, "cmd.PrintErr": true, "cmd.PrintErrf": true, "cmd.PrintErrln": true,
	"cmd.OutOrStdout().Write": true, "cmd.ErrOrStderr().Write": true, "print": true, "println": true,
}

// TestNobodyPrintsAround checks that commands print only through kube-granular.dev/api/printing, which
// escapes what other people chose, and whose tables are not wider than printing.MaxWidth. No command has
// a writer of tables of its own.
func TestNobodyPrintsAround(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, used := 0, map[string]bool{}
	for _, dir := range printers {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				if err == nil && entry.IsDir() && (entry.Name() == "test" || entry.Name() == "testdata") {
					return fs.SkipDir
				}
				return err
			}
			files++
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			for _, call := range printsIn(t, path) {
				if _, may := around[name][call]; may {
					used[name+" "+call] = true
					continue
				}
				t.Errorf("%s calls %s: print with kube-granular.dev/api/printing, which escapes text of others", name, call)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("looked at %d files", files)
	}
	for name, calls := range around {
		for call := range calls {
			if !used[name+" "+call] {
				t.Errorf("%s does not call %s", name, call)
			}
		}
	}
}

// printsIn returns the calls in a file that print without escaping.
func printsIn(t *testing.T, path string) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	builders := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		// Text that is built in memory is printed later.
		if spec, ok := n.(*ast.ValueSpec); ok {
			if of := nameOf(spec.Type); of == "strings.Builder" || of == "bytes.Buffer" {
				for _, name := range spec.Names {
					builders[name.Name] = true
				}
			}
		}
		return true
	})
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := nameOf(call.Fun)
		stream, _, _ := strings.Cut(name, ".Write")
		if unprinted[name] && !builders[stream] && !intoBuilder(call, builders) {
			out = append(out, name)
		}
		return true
	})
	return out
}

// intoBuilder reports whether the first argument of a call is text that is built in memory.
func intoBuilder(call *ast.CallExpr, builders map[string]bool) bool {
	if len(call.Args) == 0 {
		return false
	}
	address, ok := call.Args[0].(*ast.UnaryExpr)
	return ok && address.Op == token.AND && builders[nameOf(address.X)]
}

// nameOf returns an expression such as fmt.Fprintf as it is written, or "" for other expressions.
func nameOf(e ast.Expr) string {
	switch v := e.(type) {
	case *ast.Ident:
		return v.Name
	case *ast.SelectorExpr:
		if x := nameOf(v.X); x != "" {
			return x + "." + v.Sel.Name
		}
	case *ast.CallExpr:
		if f := nameOf(v.Fun); f != "" && len(v.Args) == 0 {
			return fmt.Sprintf("%s()", f)
		}
	case *ast.StarExpr:
		return nameOf(v.X)
	}
	return ""
}

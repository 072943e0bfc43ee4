// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// oneByOne runs scripts one after the other: testscript would run them at the same time. After a script that
// failed, it skips the others.
type oneByOne struct{ *testing.T }

// Parallel does nothing. It implements testscript.T.
func (oneByOne) Parallel() {}

// Run implements testscript.T.
func (o oneByOne) Run(name string, script func(testscript.T)) {
	o.T.Run(name, func(t *testing.T) {
		if o.Failed() {
			t.Skip("an earlier script failed, and may not have cleaned up")
		}
		script(oneByOne{t})
	})
}

// Verbose implements testscript.T.
func (oneByOne) Verbose() bool { return testing.Verbose() }

// TestScriptsRunOneByOne holds that no script begins before the one before it has ended. It needs no cluster.
func TestScriptsRunOneByOne(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte("begin "+name+"\nexec true\nend "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var events []string // not guarded, so that the race detector finds scripts that overlap
	note := func(what string) func(*testscript.TestScript, bool, []string) {
		return func(_ *testscript.TestScript, _ bool, args []string) { events = append(events, what+" "+args[0]) }
	}
	testscript.RunT(oneByOne{t}, testscript.Params{Dir: dir,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"begin": note("begin"), "end": note("end")}})
	want := "begin a, end a, begin b, end b, begin c, end c, begin d, end d"
	if got := strings.Join(events, ", "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

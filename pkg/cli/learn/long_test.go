// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"kube-granular.dev/pkg/cli/auditlog"
	"kube-granular.dev/pkg/cli/roles"
)

var logBytes = flag.Int64("log-bytes", 64<<20, "how long the log of TestLongLog is")

// longLog is a reader that generates a log, which is never complete in memory. Each request pair
// reads and patches a new object, in one of 301 namespaces, by one of 50 users.
type longLog struct {
	left    int64
	id      int
	ready   []byte
	padding string
}

func (l *longLog) Read(p []byte) (int, error) {
	if len(l.ready) == 0 {
		if l.left <= 0 {
			return 0, io.EOF
		}
		name := fmt.Sprintf("a%d", l.id/2)
		r := request{
			verb: "get", name: name, namespace: fmt.Sprintf("n%d", l.id/2%301), user: fmt.Sprintf("user-%d", l.id/2%50),
			response: strings.Replace(thing(l.id, `"x":"`+l.padding+`"`, `"replicas":1`), `"name":"a"`, `"name":"`+name+`"`, 1),
		}
		if l.id%2 == 1 {
			label := fmt.Sprintf(`"k%d.example/x":"y"`, l.id%4999)
			r.verb, r.request = "patch", `{"metadata":{"labels":{`+label+`}}}`
			r.response = strings.Replace(r.response, `"x":`, label+`,"x":`, 1)
		}
		l.ready = append(r.line(l.id), '\n')
		l.left -= int64(len(l.ready))
		l.id++
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	return n, nil
}

// TestLongLog holds that memory does not grow with the log: at the end of the log it is hardly more
// than in the middle. docs/measurements/learning.md has the result for a log of 10 GB.
func TestLongLog(t *testing.T) {
	l := New(newThings(t), Options{Memory: 4 << 20})
	log := &longLog{left: *logBytes, padding: strings.Repeat("v", 2000)}
	var half uint64
	in := auditlog.Reader{
		Use: func(line []byte) error {
			if half == 0 && log.left < *logBytes/2 {
				half = heap()
			}
			return l.Use(t.Context(), line)
		},
		Warn: func(err error) { t.Error(err) },
	}
	if unread, err := in.Read("log", log); unread > 0 || err != nil {
		t.Fatal(unread, err)
	}
	end := heap()
	t.Logf("%d bytes of log, %d events: %d bytes in memory at its half, %d at its end", *logBytes, l.Events, half, end)
	if half == 0 || end > half+half/2+(4<<20) {
		t.Errorf("memory grew from %d to %d bytes", half, end)
	}
	for _, s := range l.Subjects() {
		if got := rulesOf(t, s, roles.Options{}); got != "all namespaces things : get granular granular:labels" {
			t.Errorf("%s: %s", s, got)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

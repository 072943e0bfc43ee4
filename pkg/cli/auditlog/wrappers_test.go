// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// event returns an event with an audit ID, on one line.
func event(id string) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":%q,"user":{"username":"a\nb"}}`, id)
}

// text returns an event as a JSON string.
func text(id string) string {
	data, _ := json.Marshal(event(id))
	return string(data)
}

// reader returns a reader that collects the audit IDs of events, and its warnings.
func reader() (r *Reader, ids, warnings *[]string) {
	ids, warnings = &[]string{}, &[]string{}
	return &Reader{
		Use: func(value []byte) error {
			var e struct{ Kind, AuditID string }
			if json.Unmarshal(value, &e) != nil || e.Kind != "Event" {
				return ErrNotAnEvent
			}
			*ids = append(*ids, e.AuditID)
			return nil
		},
		Warn: func(err error) { *warnings = append(*warnings, err.Error()) },
	}, ids, warnings
}

// TestFormats holds in which forms a log may come, and what a value that can't be read is called.
func TestFormats(t *testing.T) {
	a, b := event("a"), event("b")
	indented := func(text string) string {
		var out bytes.Buffer
		if err := json.Indent(&out, []byte(text), "", "  "); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	const notAnEvent = "it is not an event of audit.k8s.io/v1"
	for name, tc := range map[string]struct {
		log, ids, warnings string
		unread             int
	}{
		"a byte-order mark":                 {"\ufeff" + a + "\n" + b, "a b", "", 0},
		"a byte-order mark before an array": {"\ufeff[" + a + "]", "a", "", 0},
		"an array":                          {"[" + a + "," + b + "]", "a b", "", 0},
		"an indented array":                 {indented("[" + a + "," + b + "]"), "a b", "", 0},
		"arrays":                            {"[" + a + "]\n[" + b + "]\n[]", "a b", "", 0},
		"an array with something else":      {`[` + a + `,{"kind":"Pod"},` + b + `]`, "a b", "log: element 2: " + notAnEvent, 1},
		"indented events":                   {"\n" + indented(a) + "\n" + indented(b), "a b", "", 0},
		"an indented object of another kind": {indented(a) + indented(`{"kind":"Pod"}`) + indented(b), "a b",
			"log: object 2: " + notAnEvent, 1},
		"an EventList":                     {`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[` + a + `,` + b + `]}`, "a b", "", 0},
		"EventLists":                       {`{"kind":"EventList","items":[` + a + "]}\n" + `{"kind":"EventList","items":[` + b + `]}`, "a b", "", 0},
		"an indented EventList":            {indented(`{"kind":"EventList","metadata":{},"items":[` + a + `,` + b + `],"x":[1]}`), "a b", "", 0},
		"an EventList with something else": {`{"items":[{"kind":"Pod"},` + b + `]}`, "b", "log: line 1: an EventList: " + notAnEvent, 1},
		"CloudWatch, filter-log-events":    {indented(`{"events":[{"logStreamName":"s","message":` + text("a") + `},{"message":` + text("b") + `}]}`), "a b", "", 0},
		"CloudWatch, a subscription":       {`{"messageType":"DATA_MESSAGE","logEvents":[{"id":"1","message":` + text("a") + `}]}`, "a", "", 0},
		"CloudWatch, Insights":             {`[{"@timestamp":"t","@message":` + text("a") + `},{"@message":` + text("b") + `}]`, "a b", "", 0},
		"CloudWatch with something else":   {`{"events":[{"message":"I1126 started"}]}`, "", "log: line 1: a record of CloudWatch Logs: " + notAnEvent, 1},
		"Azure, a blob":                    {`{"category":"kube-audit","properties":{"log":` + text("a") + `,"pod":"p"}}`, "a", "", 0},
		"Azure, an event hub":              {`{"records":[{"category":"kube-audit","properties":{"log":` + text("a") + `}}]}`, "a", "", 0},
		"Azure, Log Analytics":             {`[{"Category":"kube-audit","log_s":` + text("a") + `}]`, "a", "", 0},
		"Google, an entry":                 {`{"insertId":"i","jsonPayload":` + a + `}`, "a", "", 0},
		"Google, gcloud logging read":      {indented(`[{"jsonPayload":` + a + `},{"jsonPayload":` + b + `}]`), "a b", "", 0},
		"Google, entries.list":             {`{"entries":[{"jsonPayload":` + a + `}]}`, "a", "", 0},
		"Google, a Cloud Audit Log":        {`{"insertId":"i","protoPayload":{"methodName":"io.k8s.core.v1.pods.create"}}`, "", "log: line 1: " + errGoogle.Error(), 1},
		"Fluentd, a string":                {`{"log":` + text("a") + `,"stream":"stdout"}`, "a", "", 0},
		"Fluentd, an object":               {`{"log":` + a + `,"kubernetes":{}}`, "a", "", 0},
		"Fluent Bit, a message":            {`{"date":1,"message":` + text("a") + `}`, "a", "", 0},
		"an agent inside a service":        {`{"logEvents":[{"message":` + quoted(`{"log":`+text("a")+`}`) + `}]}`, "a", "", 0},
		"an agent with something else":     {`{"log":"started\n"}`, "", "log: line 1: a record of Fluentd or Fluent Bit: " + notAnEvent, 1},
		"wrapped without end":              {strings.Repeat(`{"log":`, 6) + a + strings.Repeat("}", 6), "", "log: line 1: a record of Fluentd or Fluent Bit: a record of Fluentd or Fluent Bit: a record of Fluentd or Fluent Bit: a record of Fluentd or Fluent Bit: " + notAnEvent, 1},
		"a wrapper of another shape":       {`{"items":{"a":1}}` + "\n" + `{"events":[1]}` + "\n" + `{"properties":1}`, "", strings.Join([]string{"log: line 1: " + notAnEvent, "log: line 2: " + notAnEvent, "log: line 3: " + notAnEvent}, "; "), 3},
		"an indented event that is cut":    {indented(a) + "\n" + indented(b)[:40], "a", "log: the last value is incomplete", 0},
		"an array that is cut":             {"[" + a + "," + b, "a b", "log: the last value is incomplete", 0},
		"no JSON after an array":           {"[" + a + "] }", "a", "log: byte 91: it is not JSON, and the rest of the log is not read", 1},
		"a number after an array":          {"[" + a + "] 1", "a", "log: byte 92: it is not JSON, and the rest of the log is not read", 1},
		"text":                             {"I1126 started\n" + a, "a", "log: line 1: " + notAnEvent, 1},
		"blank lines only":                 {" \n\t\n", "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var packed bytes.Buffer
			zip := gzip.NewWriter(&packed)
			if _, err := zip.Write([]byte(tc.log)); err != nil {
				t.Fatal(err)
			}
			if err := zip.Close(); err != nil {
				t.Fatal(err)
			}
			for _, log := range []string{tc.log, packed.String()} {
				r, ids, warnings := reader()
				unread, err := r.Read("log", strings.NewReader(log))
				if err != nil || unread != tc.unread || strings.Join(*ids, " ") != tc.ids || strings.Join(*warnings, "; ") != tc.warnings {
					t.Errorf("events %q, unread %d, %v, warnings\n%s\nwanted %q, %d,\n%s", *ids, unread, err, strings.Join(*warnings, "; "), tc.ids, tc.unread, tc.warnings)
				}
			}
		})
	}
}

func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// TestErrorsOfUse holds that an error of the callback ends reading in each form of log.
func TestErrorsOfUse(t *testing.T) {
	stop := errors.New("stop")
	for _, log := range []string{event("a"), "[" + event("a") + "]", "{\n" + event("a")[1:], "{\n" + `"items":[` + event("a") + `]}`, `{"log":` + event("a") + `}`} {
		r := Reader{Use: func(value []byte) error {
			if bytes.Contains(value, []byte(`"log"`)) {
				return ErrNotAnEvent
			}
			return stop
		}, Warn: func(err error) { t.Error(err) }}
		if _, err := r.Read("log", strings.NewReader(log)); !errors.Is(err, stop) {
			t.Errorf("%s: %v", log, err)
		}
	}
}

// endless is an array of events without end, of which it repeats one n times.
type endless struct {
	part string
	n    int
	left []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.left) == 0 {
		if e.n == 0 {
			return 0, errors.New("end of the test")
		}
		e.n--
		e.left = []byte(e.part)
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

// TestMemory holds that memory does not grow with an array or a list.
func TestMemory(t *testing.T) {
	for _, start := range []string{"[", "{\n\"items\":["} {
		r, _, _ := reader()
		r.Use = func([]byte) error { return nil }
		log := &endless{part: `{"kind":"Event","a":"` + strings.Repeat("x", 1<<20) + `"},`, n: 300, left: []byte(start)}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		if _, err := r.Read("log", log); err == nil || !strings.Contains(err.Error(), "end of the test") {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 100<<20 {
			t.Errorf("%s: the heap grew by %d MiB while 300 MiB were read", start, grown>>20)
		}
	}
}

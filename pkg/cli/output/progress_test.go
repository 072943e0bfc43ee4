// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestProgress holds that the bar advances from 0 % to 100 %, is drawn at most once for each
// thousandth, and is removed by Clear.
func TestProgress(t *testing.T) {
	var drawn bytes.Buffer
	p := NewProgress(&drawn, "read", 20_000)
	n, err := io.Copy(io.Discard, p.Reader(iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 20_000)))))
	if n != 20_000 || err != nil {
		t.Fatal(n, err)
	}
	p.Clear()
	text := drawn.String()
	for _, want := range []string{"\r\x1b[Kread [" + strings.Repeat(" ", 30) + "] 0.0% of 19 KiB", "[===============               ] 50.0%", "[" + strings.Repeat("=", 30) + "] 100.0%"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not drawn", want)
		}
	}
	if lines := strings.Count(text, "read"); lines > 1001 || !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("%d drawings, the last %q", lines, text[len(text)-10:])
	}
	var none *Progress = NewProgress(nil, "read", 5)
	if data, err := io.ReadAll(none.Reader(strings.NewReader("abc"))); string(data) != "abc" || err != nil {
		t.Error(string(data), err)
	}
	none.Clear()
}

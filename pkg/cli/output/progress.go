// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"strings"

	"kube-granular.dev/api/printing"
)

// Progress draws a progress bar on one line of a terminal. A nil Progress draws nothing.
type Progress struct {
	out   io.Writer
	what  string
	total int64
	done  int64
	drawn int64
}

// NewProgress returns a progress bar for total bytes. It returns nil if total is 0 or out is nil;
// callers pass nil for out if there is no terminal.
func NewProgress(out io.Writer, what string, total int64) *Progress {
	if out == nil || total <= 0 {
		return nil
	}
	return &Progress{out: out, what: what, total: total, drawn: -1}
}

// Reader returns a reader that reads from input and advances the bar.
func (p *Progress) Reader(input io.Reader) io.Reader {
	if p == nil {
		return input
	}
	return &progressReader{input, p}
}

// Clear removes the bar from the terminal, so that other output can follow.
func (p *Progress) Clear() {
	if p != nil && p.drawn >= 0 {
		printing.Fprintf(p.out, "\r\x1b[K")
		p.drawn = -1
	}
}

const barWidth = 30

func (p *Progress) add(n int) {
	p.done = min(p.done+int64(n), p.total)
	// Draw the bar again only when it has advanced by a thousandth of the total.
	if permille := p.done * 1000 / p.total; permille != p.drawn {
		p.drawn = permille
		full := int(permille) * barWidth / 1000
		printing.Fprintf(p.out, "\r\x1b[K%s [%s%s] %d.%d%% of %s", p.what,
			strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), permille/10, permille%10, size(p.total))
	}
}

type progressReader struct {
	in io.Reader
	p  *Progress
}

func (r *progressReader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	r.p.add(n)
	return n, err
}

// size formats a number of bytes.
func size(n int64) string {
	for _, unit := range []string{"bytes", "KiB", "MiB"} {
		if n < 10*1024 {
			return fmt.Sprintf("%d %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%d GiB", n)
}

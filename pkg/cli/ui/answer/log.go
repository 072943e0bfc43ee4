// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"kube-granular.dev/pkg/cli/auditlog"
	"kube-granular.dev/pkg/cli/denial"
)

// maxRefused is the number of refused requests that are kept. Earlier ones are forgotten.
const maxRefused = 20_000

// Log is an audit log that may grow. It is safe for concurrent use.
type Log struct {
	// Name is the name of the file.
	Name string

	mu      sync.Mutex
	refused []denial.Refused
	events  int
	unread  int
	// size is the size of the file when it was read, and offset is the end of its last complete line.
	size, offset int64
	file         os.FileInfo
}

// Unread returns the number of lines that could not be read.
func (l *Log) Unread() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unread
}

// Read reads what is new in the file, and returns the refused requests, the last one first. If another file has
// taken the place of the file, as by rotation, it reads that from its beginning.
func (l *Log) Read(ctx context.Context) ([]denial.Refused, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(l.Name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if l.file != nil && (!os.SameFile(l.file, info) || info.Size() < l.offset) {
		l.size, l.offset = 0, 0
	}
	l.file = info
	if info.Size() == l.size && l.size > 0 {
		return newest(l.refused), nil
	}
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return nil, err
	}
	counted := &lines{in: io.LimitReader(file, info.Size()-l.offset)}
	unread, err := l.add(ctx, counted)
	if err != nil {
		return nil, err
	}
	l.unread += unread
	l.size, l.offset = info.Size(), l.offset+counted.complete
	return newest(l.refused), nil
}

// add adds the refused requests of a log.
func (l *Log) add(ctx context.Context, stream io.Reader) (unread int, err error) {
	reader := auditlog.Reader{
		Use: func(event []byte) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			one, err := denial.FromEvent(event)
			if errors.Is(err, auditlog.ErrNotAnEvent) {
				return err
			}
			if l.events++; one == nil || err != nil {
				return nil // an event that says nothing about a refusal
			}
			// Twice the number is kept meanwhile, so that not each one moves all others.
			if l.refused = append(l.refused, *one); len(l.refused) == 2*maxRefused {
				l.forget()
			}
			return nil
		},
		Warn: func(error) {}, // the number of such lines is the answer
	}
	unread, err = reader.Read(l.Name, stream)
	l.forget()
	return unread, err
}

// forget forgets all but the last maxRefused refused requests.
func (l *Log) forget() {
	l.refused = slices.Delete(l.refused, 0, max(0, len(l.refused)-maxRefused))
}

func (l *Log) all() []denial.Refused { return newest(l.refused) }

// lines counts the bytes up to the end of the last complete line.
type lines struct {
	in             io.Reader
	read, complete int64
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	if end := bytes.LastIndexByte(p[:n], '\n'); end >= 0 {
		l.complete = l.read + int64(end) + 1
	}
	l.read += int64(n)
	return n, err
}

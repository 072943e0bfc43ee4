// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Test is a test that was read with all of its files.
type Test struct {
	// File is the name of the file.
	File string
	// Objects are the objects of given, in the order of the files.
	Objects []Object
	// Authorization is the authorization configuration of the server, or empty for RBAC.
	Authorization []byte
	Cases         []Case
}

// Object is one object of given.
type Object struct {
	*unstructured.Unstructured
	// File and Line are where the object begins.
	File string
	Line int
	// As is the user who creates the object. It is nil for the administrator.
	As *Subject
}

// String names the object in messages.
func (o *Object) String() string {
	name := o.GetName()
	if ns := o.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return o.GetKind() + " " + name
}

// Read reads a test. If allowNetwork is false, objects that make the server connect to an address are
// refused.
func Read(file string, allowNetwork bool) (*Test, error) {
	// Nothing that a test names is read but through this root: not with .., and not by a link.
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := &reader{files: root.FS(), dir: filepath.Dir(file), allowNetwork: allowNetwork, test: &Test{File: file}}
	r.read(filepath.Base(file))
	if err := r.mistakes.err(); err != nil {
		return nil, err
	}
	return r.test, nil
}

// reader reads one test.
type reader struct {
	files        fs.FS
	dir          string
	allowNetwork bool
	mistakes     mistakes
	test         *Test
	// bytes and opened count what was read.
	bytes, opened int
}

// shown returns the path of a file as messages show it.
func (r *reader) shown(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

func (r *reader) read(name string) {
	documents, ok := r.documents(name)
	if !ok {
		return
	}
	file := r.shown(name)
	if len(documents) != 1 {
		r.mistakes.add(file, 0, "", "a test is one document, but there are %d", len(documents))
		return
	}
	raw, d := RoleTest{}, decoder{file, &r.mistakes}
	top := place{node: documents[0].node, line: documents[0].node.Line}
	if m, ok := documents[0].value.(map[string]any); ok && (m["apiVersion"] != APIVersion || m["kind"] != Kind) {
		r.mistakes.add(file, top.line, "", "not a test: it must have apiVersion %s and kind %s", APIVersion, Kind)
		return
	}
	d.decode(documents[0].value, top, reflect.ValueOf(&raw).Elem())
	for i, entry := range raw.Given {
		r.given(d, entry, top.field("given").item(i))
	}
	switch {
	case len(raw.Cases) == 0:
		r.mistakes.add(file, top.line, "cases", "there are no cases")
	case len(raw.Cases) > maxCases:
		r.mistakes.add(file, top.line, "cases", "more than %d cases", maxCases)
		return
	}
	for i := range raw.Cases {
		c, p := &raw.Cases[i], top.field("cases").item(i)
		c.Line = p.line
		checkCase(d, c, p)
	}
	r.test.Cases = raw.Cases
}

// given adds the objects of one entry.
func (r *reader) given(d decoder, entry any, p place) {
	switch entry := entry.(type) {
	case string:
		r.pattern(entry, p, nil)
	case map[string]any:
		if _, ok := entry["as"]; !ok {
			r.add(entry, d.file, p, nil)
			return
		}
		var other GivenAs
		d.decode(entry, p, reflect.ValueOf(&other).Elem())
		checkSubject(d, &other.As, p.field("as"))
		switch {
		case (other.Files == "") == (other.Object == nil):
			d.fail(p, "needs either files or object")
		case other.Object != nil:
			r.add(other.Object, d.file, p.field("object"), &other.As)
		default:
			r.pattern(other.Files, p.field("files"), &other.As)
		}
	default:
		d.fail(p, "must be a name of files, or an object")
	}
}

// pattern adds the objects of all files that a pattern matches, or that are in a folder.
func (r *reader) pattern(pattern string, p place, creator *Subject) {
	own := r.shown(filepath.Base(r.test.File))
	clean := strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
	if !fs.ValidPath(clean) || strings.Contains(clean, "\\") {
		r.mistakes.add(own, p.line, p.path, "%q is not a path below the folder of the test", pattern)
		return
	}
	names, err := r.matches(clean)
	if err != nil {
		r.mistakes.add(own, p.line, p.path, "%q: %v", pattern, err)
	} else if len(names) == 0 {
		r.mistakes.add(own, p.line, p.path, "%q matches no file", pattern)
	}
	for _, name := range names {
		documents, ok := r.documents(name)
		if !ok {
			continue
		}
		for _, one := range documents {
			r.add(one.value, r.shown(name), place{node: one.node, line: one.node.Line}, creator)
		}
	}
}

// matches returns the files of a folder with the endings of YAML and JSON, or those that match a
// pattern.
func (r *reader) matches(pattern string) ([]string, error) {
	if info, err := fs.Stat(r.files, pattern); err == nil && info.IsDir() {
		var names []string
		for _, ending := range []string{"yaml", "yml", "json"} {
			found, err := fs.Glob(r.files, strings.TrimPrefix(pattern+"/*."+ending, "./"))
			if err != nil {
				return nil, err
			}
			names = append(names, found...)
		}
		return names, nil
	}
	return fs.Glob(r.files, pattern)
}

// documents reads a file, within the limits.
func (r *reader) documents(name string) ([]document, bool) {
	r.opened++
	data, err := r.content(name)
	if err == nil {
		var out []document
		if out, err = documents(data); err == nil {
			return out, true
		}
	}
	line, message := lineOf(err)
	r.mistakes.add(r.shown(name), line, "", "%s", message)
	return nil, false
}

func (r *reader) content(name string) ([]byte, error) {
	if r.opened > maxFiles {
		return nil, fmt.Errorf("a test may have %d files", maxFiles)
	}
	info, err := fs.Stat(r.files, name)
	if err != nil {
		return nil, withoutPath(err)
	}
	// To open a pipe would block.
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	file, err := r.files.Open(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if r.bytes += len(data); r.bytes > maxTotal {
		return nil, errTooLarge
	}
	return data, err
}

// withoutPath returns the reason of an error of the file system. The mistake names the file.
func withoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// goTypes are the Go types of some folders, with their markers. They also have the types of packages that these
// import from the same modules.
type goTypes struct {
	files *token.FileSet
	// named are the packages of the given folders, and packages all that were read, by folder.
	named    []*goPackage
	packages map[string]*goPackage
	// modules are the folders of the modules, by path.
	modules map[string]string
	markers []*marker
	fields  map[*ast.Field][]*marker
	faults  []fault
}

// fault is a mistake at a line of a file.
type fault struct {
	position token.Position
	message  string
}

func (t *goTypes) fault(position token.Position, format string, args ...any) {
	t.faults = append(t.faults, fault{position, fmt.Sprintf(format, args...)})
}

// goPackage is one package of Go.
type goPackage struct {
	dir, name string
	// group and version are what controller-gen takes for the API group and the version.
	group, version string
	types          map[string]*declaration
}

// declaration is the declaration of one type.
type declaration struct {
	*ast.TypeSpec
	in      *goPackage
	file    *ast.File
	markers []*marker
}

// readTypes reads the Go packages of folders. A folder that ends in "/..." stands for all folders below it too,
// as in Go itself.
func readTypes(folders []string) (*goTypes, error) {
	t := &goTypes{files: token.NewFileSet(), packages: map[string]*goPackage{}, modules: map[string]string{},
		fields: map[*ast.Field][]*marker{}}
	for _, folder := range folders {
		dir, all := strings.CutSuffix(filepath.ToSlash(folder), "...")
		dir = filepath.Clean(filepath.FromSlash(dir))
		if err := t.findModule(dir); err != nil {
			return nil, err
		}
		if !all {
			if err := t.name(dir); err != nil {
				return nil, err
			}
			continue
		}
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if path != dir && isSkipped(filepath.Base(path)) {
				return fs.SkipDir
			}
			if err := t.name(path); !errors.As(err, new(*build.NoGoError)) {
				return err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// isSkipped reports whether "..." does not stand for folders with a name, as in Go itself.
func isSkipped(name string) bool {
	return name == "vendor" || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// findModule notes the module that a folder is in, if it is in one.
func (t *goTypes) findModule(dir string) error {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for root := absolute; ; root = filepath.Dir(root) {
		text, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err == nil {
			for line := range strings.SplitSeq(string(text), "\n") {
				if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "module" {
					relative, err := filepath.Rel(absolute, root)
					if err != nil {
						return err
					}
					t.modules[strings.Trim(fields[1], `"`)] = filepath.Join(dir, relative)
				}
			}
			return nil
		}
		if root == filepath.Dir(root) {
			return nil
		}
	}
}

// name reads the package of a folder that was given.
func (t *goTypes) name(dir string) error {
	p, err := t.read(dir)
	if err == nil && !slices.Contains(t.named, p) {
		t.named = append(t.named, p)
	}
	return err
}

// read reads the package of a folder, once.
func (t *goTypes) read(dir string) (*goPackage, error) {
	if known := t.packages[dir]; known != nil {
		return known, nil
	}
	found, err := build.Default.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	p := &goPackage{dir: dir, name: found.Name, version: found.Name, types: map[string]*declaration{}}
	t.packages[dir] = p
	for _, name := range append(slices.Clone(found.GoFiles), found.CgoFiles...) {
		file, err := parser.ParseFile(t.files, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		t.declarations(p, file)
	}
	return p, nil
}

// declarations adds the types of a file to its package, with the markers above them and their fields. A marker
// at another place is a fault.
func (t *goTypes) declarations(p *goPackage, file *ast.File) {
	placed := map[*ast.CommentGroup]bool{}
	markers := func(group *ast.CommentGroup) []*marker {
		placed[group] = true
		return t.markersOf(group)
	}
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			d := &declaration{TypeSpec: spec.(*ast.TypeSpec), in: p, file: file}
			p.types[d.Name.Name] = d
			above := d.Doc
			if above == nil && len(general.Specs) == 1 {
				above = general.Doc
			}
			d.markers = markers(above)
			ast.Inspect(d.Type, func(node ast.Node) bool {
				if s, ok := node.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						t.fields[f] = markers(f.Doc)
					}
				}
				return true
			})
		}
	}
	for _, group := range file.Comments {
		if placed[group] {
			continue
		}
		for _, line := range linesOf(t.files, group) {
			if value, ok := strings.CutPrefix(line.text, "+groupName="); ok {
				p.group = strings.TrimSpace(value)
			}
			if value, ok := strings.CutPrefix(line.text, "+versionName="); ok {
				p.version = strings.TrimSpace(value)
			}
			if strings.HasPrefix(line.text, prefix) || isMisspelled(line.text) {
				t.fault(line.position, "the marker stands above no type and no field: write it into the comment right above, without an empty line")
			}
		}
	}
}

// imported returns the declaration of a type of another package, or nil if that is in no module of the folders.
func (t *goTypes) imported(file *ast.File, packageName, typeName string) (*declaration, error) {
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil || spec.Name != nil && spec.Name.Name != packageName {
			continue
		}
		dir := t.folder(path)
		if dir == "" {
			continue
		}
		p, err := t.read(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", t.files.Position(spec.Pos()), path, err)
		}
		if spec.Name != nil || p.name == packageName {
			return p.types[typeName], nil
		}
	}
	return nil, nil
}

// folder returns the folder of a package, or "" if it is in no module of the given folders.
func (t *goTypes) folder(path string) string {
	best := ""
	for module := range t.modules {
		if (path == module || strings.HasPrefix(path, module+"/")) && len(module) > len(best) {
			best = module
		}
	}
	if best == "" {
		return ""
	}
	dir := filepath.Join(t.modules[best], filepath.FromSlash(strings.TrimPrefix(path, best)))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "" // another module, whose path begins like that one's
	}
	return dir
}

// err returns the mistakes that were found, sorted and each one once.
func (t *goTypes) err() error {
	slices.SortStableFunc(t.faults, func(a, b fault) int {
		return cmp.Or(strings.Compare(a.position.Filename, b.position.Filename), cmp.Compare(a.position.Line, b.position.Line),
			strings.Compare(a.message, b.message))
	})
	var all []error
	for _, f := range slices.Compact(t.faults) {
		all = append(all, fmt.Errorf("%s: %s", lineOf(f.position), f.message))
	}
	return errors.Join(all...)
}

// lineOf returns a position as FILE:LINE.
func lineOf(position token.Position) string {
	return fmt.Sprintf("%s:%d", position.Filename, position.Line)
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// Wish is what the files say about one namespace.
type Wish struct {
	// Name is the name of the namespace.
	Name string
	// Tenant is the LNamespace in the files, or nil if they have none.
	Tenant *v1alpha1.LNamespace
	// Backup is the LNamespace with the metadata and the status that the files have, as a backup of a cluster has them.
	Backup *v1alpha1.LNamespace
}

// Stdin is the name of a file that stands for the standard input.
const Stdin = "-"

// Read returns the wishes in files and folders, sorted by name. Objects that are neither Namespaces nor
// LNamespaces are left out. It returns an error if a file names an object twice.
func Read(paths []string, stdin io.Reader) ([]Wish, error) {
	r := reader{wishes: map[string]*Wish{}, sources: map[string]string{}}
	for _, path := range paths {
		if path == Stdin {
			text, err := io.ReadAll(stdin)
			if err == nil {
				err = r.file("standard input", text)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := r.path(path); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(r.failed...); err != nil {
		return nil, err
	}
	if len(r.wishes) == 0 {
		return nil, fmt.Errorf("%s: no Namespace and no LNamespace", strings.Join(paths, ", "))
	}
	var out []Wish
	for _, w := range r.wishes {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b Wish) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

type reader struct {
	wishes map[string]*Wish
	// sources has where each object stands, by kind and name.
	sources map[string]string
	failed  []error
}

// extensions are the extensions of the files that are read in folders.
var extensions = []string{".yaml", ".yml", ".json"}

func (r *reader) path(path string) error {
	return filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && file != path: // such as .git
			return fs.SkipDir
		case entry.IsDir() || file != path && !slices.Contains(extensions, filepath.Ext(file)):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return r.file(file, text)
	})
}

// file reads the documents of a file.
func (r *reader) file(name string, text []byte) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for i := 1; ; i++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.object(fmt.Sprintf("%s, document %d", name, i), document)
		}
		if err != nil {
			return fmt.Errorf("%s, document %d: %w", name, i, err)
		}
	}
}

// object reads one object, or the objects of a List.
func (r *reader) object(source string, text []byte) error {
	head := struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Items             []json.RawMessage `json:"items"`
	}{}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return err
	}
	group, _, found := strings.Cut(head.APIVersion, "/")
	if !found {
		group = ""
	}
	switch {
	case group == "" && head.Kind == "List":
		for _, item := range head.Items {
			if err := r.object(source, item); err != nil {
				return err
			}
		}
	case group == "" && head.Kind == "Namespace":
		r.add(source, head.Kind, head.Name, nil)
	case group == v1alpha1.GroupVersion.Group && head.Kind == "LNamespace":
		t := &v1alpha1.LNamespace{}
		if head.APIVersion != v1alpha1.GroupVersion.String() {
			return fmt.Errorf("LNamespace %q: apiVersion is not %s", head.Name, v1alpha1.GroupVersion)
		}
		if err := yaml.UnmarshalStrict(text, t); err != nil {
			return fmt.Errorf("LNamespace %q: %w", head.Name, err)
		}
		backup := t.DeepCopy()
		r.add(source, head.Kind, head.Name, wanted(t))
		if w := r.wishes[head.Name]; w != nil {
			w.Backup = backup
		}
	}
	return nil
}

// add adds an object to the wishes.
func (r *reader) add(source, kind, name string, t *v1alpha1.LNamespace) {
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		r.failed = append(r.failed, fmt.Errorf("%s: %s %q: metadata.name is no name of a namespace: %s", source, kind, name, wrong[0]))
		return
	}
	if other, found := r.sources[kind+"/"+name]; found {
		r.failed = append(r.failed, fmt.Errorf("%s: %s %q is in %s, too; each may be named once", source, kind, name, other))
		return
	}
	r.sources[kind+"/"+name] = source
	w := r.wishes[name]
	if w == nil {
		w = &Wish{Name: name}
		r.wishes[name] = w
	}
	if t != nil {
		w.Tenant = t
	}
}

// wanted returns an LNamespace of a file as it is created: without what the server and the controller
// write.
func wanted(t *v1alpha1.LNamespace) *v1alpha1.LNamespace {
	out := &v1alpha1.LNamespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LNamespace"},
		ObjectMeta: metav1.ObjectMeta{Name: t.Name, Labels: t.Labels},
		Spec:       t.Spec,
	}
	for key, value := range t.Annotations {
		if strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/") || key == "kubectl.kubernetes.io/last-applied-configuration" {
			continue
		}
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[key] = value
	}
	for _, list := range out.Spec.Lists() {
		*list = withKinds(*list)
	}
	return out
}

// foreign returns why a namespace can't be handed over to the tenant t, which is nil if there is none,
// or an empty string. former is the UID that the LNamespace had in a backup, or empty.
func foreign(ns *metav1.PartialObjectMetadata, t *v1alpha1.LNamespace, former types.UID) string {
	own := ""
	if t != nil {
		own = string(t.UID)
	}
	if key, uid := owner(ns); uid != "" && uid != own && (former == "" || uid != string(former)) {
		return fmt.Sprintf("it belongs to another LNamespace, by the annotation %s=%s", key, uid)
	}
	if tenant := ns.Labels[names.Tenant]; tenant != "" && (tenant != ns.Name || t == nil && former == "") {
		return fmt.Sprintf("it belongs to another LNamespace, by the label %s=%s", names.Tenant, tenant)
	}
	return ""
}

// owner returns the annotation that says to which LNamespace a namespace belonged, and the UID of that. A restored namespace
// keeps its annotations, and a policy lets only administrators of tenants write them. What an administrator handed over later
// counts before what the controller wrote when it made the namespace, as it does for the controller: the hand-over leaves that.
func owner(ns *metav1.PartialObjectMetadata) (annotation, uid string) {
	for _, key := range []string{names.AdoptedBy, names.CreatedFor} {
		if uid := ns.Annotations[key]; uid != "" {
			return key, uid
		}
	}
	return "", ""
}

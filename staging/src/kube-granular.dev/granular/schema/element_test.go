// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"strings"
	"testing"
)

// boxes is a schema with a list whose elements have permissions of their own. extensions are those
// of the list.
func boxes(extensions string) string {
	return `
root:
  type: object
  properties:
    template:
      type: object
      x-kubernetes-permission-scope: shelf
      properties:
        boxes:
          type: array
          ` + extensions + `
          items: {$ref: "#/definitions/Box"}
Box:
  type: object
  properties:
    name: {type: string}
    color: {type: string, x-kubernetes-permission-verb: color}
    lock: {type: string, x-kubernetes-permission-verb: "lock,lockKind", x-kubernetes-permission-parameterized-by: self}
    seal: {type: string, x-kubernetes-permission-verb: seal, x-kubernetes-permission-excluded: true}
    inner:
      type: object
      x-kubernetes-permission-scope: drawer
      properties:
        color: {type: string, x-kubernetes-permission-verb: color}
`
}

// TestElement checks which permissions the elements of a list get, and that the extension is refused
// where an element has no key.
func TestElement(t *testing.T) {
	const keyed = "x-kubernetes-list-type: map\n          x-kubernetes-list-map-keys: [name]\n          "
	tree, err := compileYAML(t, boxes(keyed+"x-kubernetes-permission-parameter-source: box-name\n          x-kubernetes-permission-element: box"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `root (object)
  metadata (object)
  template (object) shelf
    boxes (list-map name)
      * (object) shelfBox(box-name .template.boxes)
        color (leaf) shelfColor shelfBoxColor(box-name .template.boxes)
        inner (object) drawer
          color (leaf) drawerColor
        lock (leaf) shelfLock shelfBoxLock(box-name .template.boxes) shelfLockKind(self)
        seal (leaf) shelfSeal excluded
`
	if got := tree.String(); got != want {
		t.Errorf("got\n%s", got)
	}
	for name, test := range map[string]struct{ extensions, says string }{
		"no source": {keyed + "x-kubernetes-permission-element: box", "has an effect only on a list of type map"},
		"a set": {"x-kubernetes-list-type: set\n          x-kubernetes-permission-element: box",
			"has an effect only on a list of type map"},
		"no name": {keyed + "x-kubernetes-permission-parameter-source: box-name\n          x-kubernetes-permission-element: Box",
			"must begin with a lower-case letter"},
		"not a text": {keyed + "x-kubernetes-permission-parameter-source: box-name\n          x-kubernetes-permission-element: 1",
			"must be a string"},
	} {
		if _, err := compileYAML(t, boxes(test.extensions)); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestElementAlone checks that the elements of a list get their permission also if nothing inside them
// has one.
func TestElementAlone(t *testing.T) {
	const keyed = "x-kubernetes-list-type: map\n          x-kubernetes-list-map-keys: [name]\n          "
	list := func(extension string) string {
		return `
root:
  type: object
  properties:
    boxes:
          type: array
          x-kubernetes-permission-verb: boxes
          ` + keyed + `x-kubernetes-permission-parameter-source: box-name
          ` + extension + `
          items: {type: object, properties: {name: {type: string}, color: {type: string}}}
`
	}
	for extension, want := range map[string]string{
		"x-kubernetes-permission-element: box": "root (object)\n  boxes (list-map name) boxes\n    * (leaf) box(box-name .boxes)\n  metadata (object)\n",
		"":                                     "root (object)\n  boxes (leaf) boxes\n  metadata (object)\n",
	} {
		tree, err := compileYAML(t, list(extension))
		if err != nil {
			t.Fatal(err)
		}
		if got := tree.String(); got != want {
			t.Errorf("%s: got\n%s", extension, got)
		}
	}
}

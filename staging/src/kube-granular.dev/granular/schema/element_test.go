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
// has one, and beside one that the elements declare themselves.
func TestElementAlone(t *testing.T) {
	const keyed = "x-kubernetes-list-type: map\n          x-kubernetes-list-map-keys: [name]\n          "
	list := func(extension, element string) string {
		return `
root:
  type: object
  properties:
    boxes:
          type: array
          x-kubernetes-permission-verb: boxes
          ` + keyed + `x-kubernetes-permission-parameter-source: box-name
          ` + extension + `
          items: {type: object, properties: {name: {type: string}, color: {type: string}}` + element + `}
`
	}
	const box = "x-kubernetes-permission-element: box"
	for name, test := range map[string]struct{ extension, element, want string }{
		"an element": {box, "", "boxes (list-map name) boxes\n    * (leaf) box(box-name .boxes)"},
		"none":       {"", "", "boxes (leaf) boxes"},
		"an element with its own verb": {box, ", x-kubernetes-permission-verb: one",
			"boxes (list-map name) boxes\n    * (leaf) box(box-name .boxes) one boxOne(box-name .boxes)"},
	} {
		tree, err := compileYAML(t, list(test.extension, test.element))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := tree.String(), "root (object)\n  "+test.want+"\n  metadata (object)\n"; got != want {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
	_, err := compileYAML(t, list("x-kubernetes-permission-element: protectedLabel", ""))
	if err == nil || !strings.Contains(err.Error(), "is reserved") {
		t.Errorf("an element with a reserved name: %v", err)
	}
	half := strings.Repeat("a", 40)
	_, err = compileYAML(t, list(box+half, ", x-kubernetes-permission-verb: "+half))
	if err == nil || !strings.Contains(err.Error(), "x-kubernetes-permission-element: with the prefix of its scope") {
		t.Errorf("a permission of an element whose name is too long: %v", err)
	}
}

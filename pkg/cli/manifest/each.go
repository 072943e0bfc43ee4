// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Object is one object of a file.
type Object struct {
	metav1.TypeMeta
	Name string
	// File is the name of the file.
	File string
	// JSON is the whole object.
	JSON []byte
}

// Decode decodes the object. Like kubectl, it refuses unknown fields: a misspelled field could make a role
// wider.
func (o *Object) Decode(object any) error {
	strict := json.NewDecoder(bytes.NewReader(o.JSON))
	strict.DisallowUnknownFields()
	if err := strict.Decode(object); err != nil {
		return fmt.Errorf("%s: %s %s: %w", o.File, o.Kind, o.Name, err)
	}
	return nil
}

// Each calls visit for each object of a file, in order, also for those of lists.
func Each(file string, data []byte, visit func(*Object) error) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		document, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if string(document) == "null" {
			continue
		}
		if err := each(file, document, visit); err != nil {
			return err
		}
	}
}

func each(file string, document []byte, visit func(*Object) error) error {
	var head struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Items             []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(document, &head); err != nil {
		return fmt.Errorf("%s: not an object of Kubernetes", file)
	}
	if head.Kind == "" {
		return fmt.Errorf("%s: an object has no kind", file)
	}
	if !strings.HasSuffix(head.Kind, "List") {
		return visit(&Object{TypeMeta: head.TypeMeta, Name: head.Name, File: file, JSON: document})
	}
	for _, item := range head.Items {
		if err := each(file, item, visit); err != nil {
			return err
		}
	}
	return nil
}

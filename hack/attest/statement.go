// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	attestation "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	payloadType   = "application/vnd.in-toto+json"
	// buildType names how a release is made: `make release` in a clone of the repository.
	buildType = "https://kube-granular.dev/release/v1"
)

// origin is what the releaser says of a build.
type origin struct {
	builder, version, repository, commit string
	// materials maps what else was built from to its SHA-256.
	materials map[string]string
	// parameters are what the releaser chose.
	parameters map[string]string
}

// statement returns an in-toto statement about files, whose provenance is the origin. The same input gives the
// same bytes.
func statement(files []sum, o origin) ([]byte, error) {
	parameters := map[string]any{"version": o.version}
	for name, value := range o.parameters {
		parameters[name] = value
	}
	external, err := structpb.NewStruct(parameters)
	if err != nil {
		return nil, err
	}
	var dependencies []*attestation.ResourceDescriptor
	if o.commit != "" {
		dependencies = append(dependencies, &attestation.ResourceDescriptor{
			Name: "repository", Uri: o.repository, Digest: map[string]string{"gitCommit": o.commit},
		})
	}
	for _, name := range slices.Sorted(maps.Keys(o.materials)) {
		dependencies = append(dependencies, &attestation.ResourceDescriptor{Name: name, Digest: map[string]string{"sha256": o.materials[name]}})
	}
	made := &provenance.Provenance{
		BuildDefinition: &provenance.BuildDefinition{
			BuildType: buildType, ExternalParameters: external, ResolvedDependencies: dependencies,
		},
		RunDetails: &provenance.RunDetails{Builder: &provenance.Builder{Id: o.builder}},
	}
	if err := made.Validate(); err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}
	text, err := protojson.Marshal(made)
	if err != nil {
		return nil, err
	}
	predicate := &structpb.Struct{}
	if err := protojson.Unmarshal(text, predicate); err != nil {
		return nil, err
	}
	whole := &attestation.Statement{Type: statementType, PredicateType: predicateType, Predicate: predicate}
	for _, f := range files {
		whole.Subject = append(whole.Subject, &attestation.ResourceDescriptor{Name: f.name, Digest: map[string]string{"sha256": f.sha256}})
	}
	if err := whole.Validate(); err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	if text, err = protojson.Marshal(whole); err != nil {
		return nil, err
	}
	// protojson adds spaces at random, so that nobody relies on its bytes.
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

// readStatement returns the files that a statement is about, and the version of the release.
func readStatement(text []byte) ([]sum, string, error) {
	whole := &attestation.Statement{}
	if err := protojson.Unmarshal(text, whole); err != nil {
		return nil, "", err
	}
	if err := whole.Validate(); err != nil {
		return nil, "", err
	}
	if whole.GetPredicateType() != predicateType {
		return nil, "", fmt.Errorf("predicateType: is %q and not %s", whole.GetPredicateType(), predicateType)
	}
	var files []sum
	for _, s := range whole.GetSubject() {
		files = append(files, sum{s.GetName(), s.GetDigest()["sha256"]})
	}
	definition := whole.GetPredicate().GetFields()["buildDefinition"].GetStructValue()
	parameters := definition.GetFields()["externalParameters"].GetStructValue()
	return files, parameters.GetFields()["version"].GetStringValue(), nil
}

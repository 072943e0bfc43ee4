// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package mutate

import "fmt"

// Mutant is one small fault that was added to a source.
type Mutant struct {
	// ID is the number of the switch that enables the mutant.
	ID int `json:"id"`
	// Package is the folder of the package, and File is the path of the source file, both relative
	// to the root of the project.
	Package string `json:"package"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	// Func is the function with the mutant, including the receiver type.
	Func string `json:"func"`
	// Op is the kind of mutation, and Text is the mutated code, formatted on one line.
	Op   string `json:"op"`
	Text string `json:"text"`
	// Nth distinguishes mutants of one function with the same Op and Text; it starts at 1.
	Nth int `json:"nth"`
}

// Key returns an identifier of the mutant. It does not contain a line number, so it stays the same
// when other code of the file changes.
func (m *Mutant) Key() string {
	key := fmt.Sprintf("%s: %s: %s: %s", m.File, m.Func, m.Op, m.Text)
	if m.Nth > 1 {
		key += fmt.Sprintf(" #%d", m.Nth)
	}
	return key
}

// Where returns the position of a mutant in the format of compilers.
func (m *Mutant) Where() string { return fmt.Sprintf("%s:%d", m.File, m.Line) }

// The kinds of mutations, as values of Mutant.Op.
const (
	OpNegated = "negated"      // negates a condition
	OpAnd     = "&& to ||"     // this and the next three exchange an operator
	OpOr      = "|| to &&"     //
	OpEqual   = "== to !="     //
	OpUnequal = "!= to =="     //
	OpFlipped = "flipped"      // inverts a returned bool
	OpDropped = "error to nil" // returns nil in place of an error
	OpMade    = "nil to error" // returns an error in place of nil
	OpRemoved = "removed"      // removes a statement
)

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// Tenant is an LNamespace of the tenancy controller: what kubectl lns shows of it, and its open requests.
type Tenant struct {
	Name string `json:"name"`
	// Ready is "yes", or why the people do not have what the lists say.
	Ready string `json:"ready"`
	// Account pays, "" for none.
	Account string `json:"account,omitempty"`
	// Members says how many names each list has: 3 users, 1 manager, 2 sudoers.
	Members string `json:"members"`
	// Facts are pairs of a name and a text, in the order in which they are shown.
	Facts  [][2]string `json:"facts"`
	People []Person    `json:"people"`
	// Requests are the requests for sudo that wait or give sudo now.
	Requests []SudoRequest `json:"requests,omitempty"`
	// Periods are the billing periods that the status has, the first one first.
	Periods   []Period   `json:"periods,omitempty"`
	Leftovers []Leftover `json:"leftovers,omitempty"`
}

// The values of Person.End.
const (
	// Soon: the entry ends within a week.
	Soon = "soon"
	// Ended: the entry has ended, or its end can't be read.
	Ended = "ended"
)

// Person is an entry of a list of a tenant.
type Person struct {
	// List is users, managers or sudoers.
	List string `json:"list"`
	// Word is user, group or serviceaccount, and Name the name, of an account NAMESPACE/NAME.
	Word string `json:"word"`
	Name string `json:"name"`
	// Granted is true if the controller has given what the list grants.
	Granted bool `json:"granted,omitempty"`
	// Until is the end of the entry as it was written, "" for none, and End what it means when the data was
	// collected: Soon, Ended or "".
	Until string `json:"until,omitempty"`
	End   string `json:"end,omitempty"`
}

// SudoRequest is a request for sudo that waits or gives sudo now.
type SudoRequest struct {
	// Who is the user who requests.
	Who    string `json:"who"`
	For    string `json:"for"`
	State  string `json:"state"`
	Until  string `json:"until,omitempty"`
	Reason string `json:"reason"`
	// DecidedBy is the user who approved, "" if nobody has to or did.
	DecidedBy string `json:"decidedBy,omitempty"`
}

// Period is a time in which an account paid.
type Period struct {
	Account string `json:"account,omitempty"`
	Start   string `json:"start"`
	// End is "" for the period that lasts.
	End string `json:"end,omitempty"`
}

// Leftover is an object by which somebody who left can keep rights.
type Leftover struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Maker is "" if the author is not known.
	Maker string `json:"maker,omitempty"`
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"errors"
	"fmt"
	"io"
	"net/mail"
	"regexp"
	"slices"
	"strings"
)

// The fixed lines of a patch. They contain neither the name of a person nor a real date, so that
// the text of a patch changes only if the content of the patch does.
const (
	fromLine  = "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001"
	author    = "kube-granular developers <developers@kube-granular.dev>"
	date      = "Mon, 17 Sep 2001 00:00:00 +0000"
	signature = "-- \nkube-granular\n"
)

// Trailers are the trailers that a patch must have, in their order.
var Trailers = []string{"Carry", "Upstream", "Forwarded", "Seam", "Drop-When", "Tested-By"}

// carries are the allowed values of the trailer Carry.
var carries = []string{"until-upstream", "permanent", "drop"}

// Trailer is one "Key: value" line of a header, together with its continuation lines.
type Trailer struct{ Key, Value string }

// Header is the description at the top of a patch.
type Header struct {
	// Subject is without "[PATCH] ".
	Subject string
	// Body is the text between the subject and the trailers, without blank lines at its ends.
	Body     string
	Trailers []Trailer
	// fixed is true if the parsed patch had exactly the lines fromLine, author and date.
	fixed bool
}

var trailerLine = regexp.MustCompile(`^([A-Z][A-Za-z-]*): (.*)$`)

func parseHeader(text string) (h Header, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	m, err := mail.ReadMessage(strings.NewReader(rest))
	if err != nil {
		return h, fmt.Errorf("header: %w", err)
	}
	body, _ := io.ReadAll(m.Body) // of a string
	subject, ok := strings.CutPrefix(m.Header.Get("Subject"), "[PATCH")
	if _, h.Subject, _ = strings.Cut(subject, "] "); !ok || h.Subject == "" {
		return h, errors.New(`header: no line "Subject: [PATCH] <package>: <verb phrase>"`)
	}
	h.fixed = first == fromLine && m.Header.Get("From") == author && m.Header.Get("Date") == date
	message, _, ok := strings.Cut("\n"+string(body), "\n---\n")
	if !ok {
		return h, errors.New(`header: no line "---" before the diff`)
	}
	h.Body, h.Trailers = splitTrailers(strings.Trim(message, "\n"))
	return h, nil
}

// splitTrailers splits a message into its body and its trailers. The trailers are the last
// paragraph. If a line of that paragraph is neither a trailer nor the continuation of a trailer,
// then the message has no trailers, and the body is the whole message.
func splitTrailers(message string) (string, []Trailer) {
	body, last := "", message
	if i := strings.LastIndex(message, "\n\n"); i >= 0 {
		body, last = message[:i], message[i+2:]
	}
	var trailers []Trailer
	for line := range strings.SplitSeq(last, "\n") {
		if m := trailerLine.FindStringSubmatch(line); m != nil {
			trailers = append(trailers, Trailer{Key: m[1], Value: m[2]})
		} else if strings.HasPrefix(line, " ") && len(trailers) > 0 {
			trailers[len(trailers)-1].Value += "\n" + line
		} else {
			return message, nil
		}
	}
	return strings.Trim(body, "\n"), trailers
}

// Get returns the values of a trailer.
func (h Header) Get(key string) []string {
	var all []string
	for _, t := range h.Trailers {
		if t.Key == key {
			all = append(all, t.Value)
		}
	}
	return all
}

var subjectForm = regexp.MustCompile(`^[a-z0-9][a-z0-9./_,-]*: [a-z][ -~]*[^. ]$`)

// Check returns everything that is wrong with a header.
func (h Header) Check() []string {
	var wrong []string
	if !h.fixed {
		wrong = append(wrong, fmt.Sprintf("does not begin with the lines %q, %q and %q", fromLine, "From: "+author, "Date: "+date))
	}
	if !subjectForm.MatchString(h.Subject) {
		wrong = append(wrong, fmt.Sprintf("subject %q is not of the form \"<package>: <verb phrase>\", lower-case, ASCII, no full stop", h.Subject))
	}
	if len(h.Subject) > 72 {
		wrong = append(wrong, fmt.Sprintf("subject has %d characters, at most 72 fit", len(h.Subject)))
	}
	if h.Body == "" {
		wrong = append(wrong, "has no body: add the reason for the patch")
	}
	for line := range strings.SplitSeq(h.Body, "\n") {
		if strings.HasPrefix(line, "---") || strings.HasPrefix(line, "diff -") || strings.HasPrefix(line, "Index: ") || strings.HasPrefix(line, "From ") {
			wrong = append(wrong, fmt.Sprintf("line %q would end the message for git am", line))
		}
	}
	for _, key := range Trailers {
		values := h.Get(key)
		switch {
		case len(values) == 0:
			wrong = append(wrong, "has no trailer "+key+":")
		case slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) == "" || v == unfilled }):
			wrong = append(wrong, "trailer "+key+": is not filled in")
		case len(values) > 1 && key != "Tested-By":
			wrong = append(wrong, fmt.Sprintf("has %d trailers %s:, want one", len(values), key))
		case key == "Carry" && !slices.Contains(carries, values[0]):
			wrong = append(wrong, fmt.Sprintf("trailer Carry: is %q, want one of %s", values[0], strings.Join(carries, ", ")))
		}
	}
	return wrong
}

// unfilled is the value of the trailers of a new patch until somebody fills them in.
const unfilled = "(fill in)"

// Skeleton returns the header of a new patch. Check refuses the header until its trailers are
// filled in.
func Skeleton(subject string) Header {
	h := Header{Subject: subject, fixed: true}
	for _, key := range Trailers {
		h.Trailers = append(h.Trailers, Trailer{Key: key, Value: unfilled})
	}
	return h
}

// Message returns the commit message of a patch.
func (h Header) Message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", h.Subject)
	if h.Body != "" {
		fmt.Fprintf(&b, "%s\n\n", h.Body)
	}
	for _, t := range h.Trailers {
		fmt.Fprintf(&b, "%s: %s\n", t.Key, t.Value)
	}
	return b.String()
}

// Render returns the text of a patch: the header, and a diff made by package git.
func Render(h Header, diff []byte) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nFrom: %s\nDate: %s\nSubject: [PATCH] %s---\n\n%s%s", fromLine, author, date, h.Message(), diff, signature)
	return []byte(b.String())
}

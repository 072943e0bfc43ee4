// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// maxQuoting is how often a message may be quoted, such as in a line of JSON inside a line of JSON.
const maxQuoting = 4

var (
	tokenPattern = regexp.MustCompile(quoted)
	// startPattern matches the beginning of a refusal in a text whose quoted strings are masked.
	startPattern = regexp.MustCompile(`[a-z0-9.-]+(?: "_*")? is forbidden: |admission webhook "_*" denied the request`)
	// newLinePattern matches lines that do not continue the message of the line before.
	newLinePattern = regexp.MustCompile(`^(?:Error from server|error:|[IWEF]\d{4} |\{"|\d{4}-\d{2}-\d{2}|$)`)
)

// refusals returns the refusals in a text, in order, each once. The text is the output of kubectl, or
// lines of logs, in which a message may be quoted.
func refusals(text string, quoting int) []*Denial {
	var out []*Denial
	for _, candidate := range []string{text, oneLine(text)} {
		for _, message := range unwrapped(candidate) {
			out = append(out, line(message, quoting)...)
		}
		if len(out) > 0 {
			return once(out)
		}
	}
	// The text may be a part of a quoted string, without its quotes.
	if plain, err := strconv.Unquote(`"` + oneLine(text) + `"`); err == nil && plain != text && quoting < maxQuoting {
		return refusals(plain, quoting+1)
	}
	return nil
}

// oneLine joins lines, since terminals break long ones.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// unwrapped returns the lines of a text. A line that only continues a message is joined with the line
// before.
func unwrapped(text string) []string {
	var out []string
	begun := false
	for one := range strings.Lines(text) {
		one = oneLine(one)
		switch {
		case startPattern.MatchString(masked(one)):
			begun = true
		case begun && !newLinePattern.MatchString(one) && !strings.Contains(one, marker):
			out[len(out)-1] += " " + one
			continue
		default:
			begun = false
		}
		out = append(out, one)
	}
	return out
}

// marker is a part of each refusal except that of a webhook.
const marker = " is forbidden: "

// masked returns a line of the same length in which nothing inside quotes can look like a refusal.
func masked(one string) string {
	return tokenPattern.ReplaceAllStringFunc(one, func(token string) string {
		return `"` + strings.Repeat("_", len(token)-2) + `"`
	})
}

// line returns the refusals in a line, which may be a Status as JSON. What is quoted inside a refusal, such as the name of a user, is
// never taken for another one. After a refusal with a reason, the rest of the line may be text of
// somebody else, such as the message of a policy, so it is not searched.
func line(one string, quoting int) []*Denial {
	if d := statusIn(one); d != nil {
		return []*Denial{d}
	}
	starts := startPattern.FindAllStringIndex(masked(one), -1)
	if len(starts) == 0 {
		return inside(one, quoting)
	}
	out := inside(one[:starts[0][0]], quoting)
	for i := 0; i < len(starts); i++ {
		rest := one[starts[i][0]:]
		if i+1 < len(starts) {
			first := strings.TrimRight(one[starts[i][0]:starts[i+1][0]], " ,;")
			if d, err := parse(first); err == nil && d.Why == "" && !d.Grant {
				out = append(out, d)
				continue
			}
		}
		if d, err := parse(rest); err == nil {
			out = append(out, d)
		}
		break
	}
	return out
}

// inside returns the refusals in the quoted strings of a line. The text of a string is one line.
func inside(one string, quoting int) []*Denial {
	if quoting == maxQuoting {
		return nil
	}
	var out []*Denial
	for _, token := range tokenPattern.FindAllString(one, -1) {
		if !strings.Contains(token, "is forbidden: ") && !strings.Contains(token, "denied the request") {
			continue
		}
		var text string
		if json.Unmarshal([]byte(token), &text) != nil {
			var err error
			if text, err = strconv.Unquote(token); err != nil {
				continue
			}
		}
		out = append(out, line(oneLine(text), quoting+1)...)
	}
	return out
}

// once returns each refusal once.
func once(all []*Denial) []*Denial {
	var out []*Denial
	known := map[string]bool{}
	for _, d := range all {
		key, err := json.Marshal(d)
		if err == nil && known[string(key)] {
			continue
		}
		known[string(key)] = true
		out = append(out, d)
	}
	return out
}

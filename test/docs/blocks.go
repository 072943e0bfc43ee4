// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"regexp"
	"strings"
)

// step is one step of a document: a file that the reader writes, or a command that the reader
// runs.
type step struct {
	line int
	// A step that writes a file sets file and content. A step that runs a command sets command
	// and want, the expected output.
	file, content string
	command       string
	want          []string
}

var fence = regexp.MustCompile("^```(\\S*)(?: title=(\\S+))?$")

// parse returns the steps of a Markdown document: its blocks with a file title, and its console
// blocks.
func parse(document string) ([]step, error) {
	var steps []step
	lines := strings.Split(document, "\n")
	for i := 0; i < len(lines); i++ {
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			if strings.HasPrefix(lines[i], "```") {
				return nil, fmt.Errorf("line %d: a block must start with ```kind or ```kind title=file", i+1)
			}
			continue
		}
		first := i + 1 // counted from 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the code block that begins here has no end", first)
		}
		block := lines[first:i]
		switch {
		case m[1] == "console":
			commands, err := console(block, first)
			if err != nil {
				return nil, err
			}
			steps = append(steps, commands...)
		case m[2] != "":
			steps = append(steps, step{line: first, file: m[2], content: strings.Join(block, "\n") + "\n"})
		}
	}
	return steps, nil
}

// console returns the commands of a console block, each with its expected output. A line that
// ends with a backslash continues the command on the next line.
func console(block []string, first int) ([]step, error) {
	var steps []step
	for i := 0; i < len(block); i++ {
		command, ok := strings.CutPrefix(block[i], "$ ")
		if !ok {
			if len(steps) == 0 {
				return nil, fmt.Errorf("line %d: a console block starts with a command", first+i+1)
			}
			last := &steps[len(steps)-1]
			last.want = append(last.want, block[i])
			continue
		}
		line := first + i + 1
		for strings.HasSuffix(command, "\\") && i+1 < len(block) {
			i++
			command += "\n" + block[i]
		}
		steps = append(steps, step{line: line, command: command})
	}
	return steps, nil
}

// matches reports whether the printed lines equal the wanted lines. A wanted line "..." matches
// any number of lines.
func matches(got, want []string) bool {
	for len(want) > 0 {
		if want[0] == "..." {
			for rest := 0; rest <= len(got); rest++ {
				if matches(got[rest:], want[1:]) {
					return true
				}
			}
			return false
		}
		if len(got) == 0 || got[0] != strings.TrimRight(want[0], " ") {
			return false
		}
		got, want = got[1:], want[1:]
	}
	return len(got) == 0
}

// output splits the output of a command into lines, without trailing spaces and without empty
// lines at the end.
func output(text string) []string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// fails reports whether the wanted output shows an error, so that the command must fail.
func fails(want []string) bool {
	for _, line := range want {
		if strings.HasPrefix(line, "Error") || strings.HasPrefix(line, "error:") || strings.HasPrefix(line, "The ") && strings.Contains(line, " is invalid:") ||
			strings.HasPrefix(line, "The server refuses it:") {
			return true
		}
	}
	return false
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"bytes"
	"fmt"
	"html"
)

// File is the path of the diagram from the root of the repository.
const File = "docs/generated/request.svg"

// step is one box of the diagram.
type step struct {
	title string
	lines []string
	// marked is true if kube-granular adds the step to upstream's handling of a request.
	marked bool
	// ends is the response with which the step may end the request, and because is the condition
	// for that. Both are empty if the step never ends a request.
	because, ends string
}

var steps = []step{
	{title: "Request", lines: []string{"create, update or patch, by a known user"}},
	{title: "Ask for the ordinary verb", lines: []string{"Allowed: the request continues as in upstream.", "Neither allowed nor denied: the next question."},
		because: "denied", ends: "403: a Deny is final"},
	{title: "Ask for the verb granular", lines: []string{"Only if the ordinary verb was not allowed.", "Allowed: the request continues with a marker."}, marked: true,
		because: "not allowed", ends: "403, as in upstream"},
	{title: "Observe the change", marked: true,
		lines: []string{"As the caller sent it. What webhooks add later", "does not count as the caller's change."}},
	{title: "Mutating admission", lines: []string{"Webhooks and plugins may add to the object."}},
	{title: "Validation", lines: []string{"By the kind's own rules."}, because: "invalid", ends: "422, as in upstream"},
	{title: "Verify the change", marked: true,
		lines: []string{"Marked: each field that the caller changed needs", "a permission, asked from general to specific.",
			"Not marked: only excluded fields. There, what", "the server itself changes counts too."},
		because: "not covered", ends: "403 that names the field"},
	{title: "Validating admission", lines: []string{"Webhooks and policies may refuse."}, because: "refused", ends: "403, as in upstream"},
	{title: "Storage", lines: []string{"Refuses a marked write that was not verified", "right before."}, marked: true, because: "not verified", ends: "500, nothing is stored"},
	{title: "Answer", lines: []string{"Without get, a marked caller sees only", "the object's identity."}, marked: true},
}

// Sizes, in units of the SVG.
const (
	width, left, boxWidth = 760, 20, 400
	gap, padding          = 26, 12
	titleHeight, line     = 22, 18
	outcomeLeft           = 530
)

const style = `
  .box { fill: #f6f8fa; stroke: #57606a; }
  .ours { fill: #ddf4ff; stroke: #0969da; }
  .end { fill: #fff1f0; stroke: #cf222e; }
  .way { stroke: #57606a; fill: none; }
  .tip { fill: #57606a; }
  text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2328; }
  .title { font-weight: 600; font-size: 15px; }
  .why { font-size: 12px; fill: #57606a; }
  @media (prefers-color-scheme: dark) {
    .box { fill: #21262d; stroke: #8b949e; }
    .ours { fill: #0c2d4d; stroke: #58a6ff; }
    .end { fill: #3d1214; stroke: #f85149; }
    .way { stroke: #8b949e; }
    .tip { fill: #8b949e; }
    text { fill: #e6edf3; }
    .why { fill: #8b949e; }
  }
`

// Draw returns the diagram as an SVG.
func Draw() []byte {
	var body bytes.Buffer
	y := padding
	for i, s := range steps {
		height := 2*padding + titleHeight + len(s.lines)*line - 6
		s.draw(&body, y, height)
		y += height
		if i < len(steps)-1 {
			middle := left + boxWidth/2
			arrow(&body, middle, y, middle, y+gap)
			y += gap
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" role="img" aria-labelledby="title">`+"\n", width, y+padding, width)
	fmt.Fprint(&out, `<title id="title">The way of a write through the server; blue is what kube-granular adds</title>`+"\n")
	fmt.Fprintf(&out, "<style>%s</style>\n", style)
	out.Write(body.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func (s step) draw(out *bytes.Buffer, y, height int) {
	class := "box"
	if s.marked {
		class = "ours"
	}
	fmt.Fprintf(out, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="8"/>`+"\n", class, left, y, boxWidth, height)
	fmt.Fprintf(out, `<text class="title" x="%d" y="%d">%s</text>`+"\n", left+padding, y+padding+13, html.EscapeString(s.title))
	for i, l := range s.lines {
		fmt.Fprintf(out, `<text x="%d" y="%d">%s</text>`+"\n", left+padding, y+padding+titleHeight+13+i*line, html.EscapeString(l))
	}
	if s.ends == "" {
		return
	}
	middle := y + height/2
	arrow(out, left+boxWidth, middle, outcomeLeft, middle)
	fmt.Fprintf(out, `<text class="why" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (left+boxWidth+outcomeLeft)/2, middle-6, html.EscapeString(s.because))
	fmt.Fprintf(out, `<rect class="end" x="%d" y="%d" width="%d" height="34" rx="8"/>`+"\n", outcomeLeft, middle-17, width-outcomeLeft-left)
	fmt.Fprintf(out, `<text x="%d" y="%d">%s</text>`+"\n", outcomeLeft+padding, middle+5, html.EscapeString(s.ends))
}

// arrow draws a straight arrow, down or to the right.
func arrow(out *bytes.Buffer, fromX, fromY, toX, toY int) {
	const tip = 5
	fmt.Fprintf(out, `<path class="way" d="M%d %d L%d %d"/>`+"\n", fromX, fromY, toX, toY)
	if fromX == toX {
		fmt.Fprintf(out, `<path class="tip" d="M%d %d l%d -%d h%d z"/>`+"\n", toX, toY, -tip, 2*tip, 2*tip)
		return
	}
	fmt.Fprintf(out, `<path class="tip" d="M%d %d l-%d -%d v%d z"/>`+"\n", toX, toY, 2*tip, tip, 2*tip)
}

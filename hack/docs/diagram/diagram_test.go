// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
)

// TestPicture holds that the SVG is well-formed, that each box is inside the picture, and that each
// line of text fits into its box if a character is eight units wide.
func TestPicture(t *testing.T) {
	decoder := xml.NewDecoder(strings.NewReader(string(Draw())))
	var height int
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		number := map[string]int{}
		for _, a := range start.Attr {
			if n, err := strconv.Atoi(a.Value); err == nil {
				number[a.Name.Local] = n
			}
			if a.Name.Local == "viewBox" {
				height, _ = strconv.Atoi(strings.Fields(a.Value)[3])
			}
		}
		if start.Name.Local == "rect" && (number["x"]+number["width"] > width || number["y"]+number["height"] > height) {
			t.Errorf("a box leaves the picture: %v", number)
		}
	}
	for _, s := range steps {
		for _, l := range s.lines {
			if len(l)*15/2 > boxWidth-2*padding {
				t.Errorf("%q does not fit", l)
			}
		}
		if len(s.ends)*8 > width-outcomeLeft-left-padding {
			t.Errorf("%q does not fit", s.ends)
		}
	}
}

// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

const (
	// ellipsis stands for what is left out of a shortened cell.
	ellipsis = "…"
	// gap is the space between two columns of a table, and minColumn is the minimum width of a column.
	// Both are those of kubectl.
	gap, minColumn = 3, 3
)

// narrow is the width up to which a column stays as it is, if such columns take at most half of the
// table. A time takes so much.
const narrow = 20

// fit returns the widths of the columns of a table that may be wide at most room without gaps: those
// of the longest cells, if they fit. If not, the widest columns become narrower. The first column, which
// names what a row is about, may take two fifths of the table, and more if the others leave it.
func fit(natural []int, room int) []int {
	out := slices.Clone(natural)
	var order []int
	all, fixed := 0, 0
	for i, width := range natural {
		order = append(order, i)
		if all += width; width <= narrow {
			fixed += width
		}
	}
	if all <= room {
		return out
	}
	if fixed <= room/2 {
		order = slices.DeleteFunc(order, func(i int) bool { return natural[i] <= narrow })
		if room -= fixed; len(order) > 1 && order[0] == 0 {
			out[0] = min(natural[0], max(room*2/5, room-all+fixed+natural[0]))
			room -= out[0]
			order = order[1:]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(natural[a], natural[b]) })
	for i, column := range order {
		// No column needs less than an equal share of what the narrower ones left.
		out[column] = max(1, min(natural[column], room/(len(order)-i)))
		room -= out[column]
	}
	return out
}

// maxName is the number of words of the longest name, such as a kind with a name.
const maxName = 2

// shorten shortens the text of a cell to a width. A name or a path loses its middle, because names often
// differ at the end. Of a list, of more words, and of quoted text, the end is left out: whole words, unless
// half of the width would be lost. The branch of a tree before the text stays.
func shorten(text string, width int) string {
	branch := text[:len(text)-len(strings.TrimLeft(text, "│├└─ "))]
	text, room := text[len(branch):], width-widthOf(branch)-widthOf(ellipsis)
	if room <= 0 {
		head, _ := split([]rune(branch), width-widthOf(ellipsis))
		return string(head) + ellipsis
	}
	head, _ := split([]rune(text), room)
	list := strings.Contains(text, ",") || strings.Count(text, " ") >= maxName
	switch end := strings.LastIndexAny(string(head), " ,") + 1; {
	case strings.HasPrefix(text, `"`):
	case list && widthOf(string(head)[:end]) > room/2:
		head = head[:len([]rune(string(head)[:end]))]
	case !list:
		_, tail := split([]rune(text), widthOf(text)-room/2)
		head, _ = split(head, room-room/2)
		return branch + string(head) + ellipsis + string(tail)
	}
	return branch + string(head) + ellipsis
}

// split returns the longest beginning of a text that is at most as wide as width, and the end of the
// text that is not part of the shortest beginning that is at least as wide.
func split(text []rune, width int) (head, tail []rune) {
	sum, end := 0, 0
	for end < len(text) && sum+runeWidth(text[end]) <= width {
		sum += runeWidth(text[end])
		end++
	}
	if sum < width && end < len(text) {
		return text[:end], text[end+1:]
	}
	return text[:end], text[end:]
}

// widthOf returns how many columns of a terminal a text takes.
func widthOf(text string) int {
	sum := 0
	for _, r := range text {
		sum += runeWidth(r)
	}
	return sum
}

// runeWidth returns how many columns of a terminal a printable character takes. A combining mark takes
// none and counts as one, so that no text is longer than it counts.
func runeWidth(r rune) int {
	switch {
	case r < 0x1100 || r >= 0xff61 && r <= 0xffdf: // most characters, and halfwidth ones
		return 1
	case r >= 0xff01 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x3000 && r <= 0x303e:
		return 2
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana, unicode.Yi, unicode.Bopomofo):
		return 2
	}
	return 1
}

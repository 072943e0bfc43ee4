// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"math"
	"net/url"
	"regexp"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// function is a function that new expressions can call.
type function struct {
	// work returns an upper bound of the work of a call, in units of about a tenth of a microsecond.
	// It is counted before the function is called, because a call can't be interrupted. The result
	// may be any number above most if it exceeds most.
	work func(args []ref.Val, most int64) int64
	// depth returns the depth of the type of the result, from the largest depth of an argument.
	depth func(args int) int
}

const (
	// tooMuch is more than any budget.
	tooMuch = math.MaxInt64
	// maxParsed is the maximum length of a string that is parsed as a number, version, address or
	// time, in bytes.
	maxParsed = 256
)

// Depths of results.
func scalar(int) int       { return 0 }
func list(int) int         { return 1 }
func same(args int) int    { return args }
func wrapped(args int) int { return args + 1 }

// selected is an optional part of a value.
func selected(args int) int { return max(args, 1) }

// available has all functions that new expressions can call. A function that is not here is refused,
// so a function that a later version of Kubernetes adds can't be called before its work is bounded
// here.
var available = newFunctions()

func newFunctions() map[string]function {
	all := map[string]function{}
	for _, part := range []struct {
		depth func(int) int
		works map[string]func([]ref.Val, int64) int64
	}{
		{scalar, map[string]func([]ref.Val, int64) int64{
			operators.LogicalAnd: constant, operators.LogicalOr: constant, operators.LogicalNot: constant,
			operators.Negate: constant, operators.Subtract: constant, operators.Multiply: constant, operators.Divide: constant, operators.Modulo: constant,
			operators.NotStrictlyFalse: constant, operators.OldNotStrictlyFalse: constant,
			operators.Equals: equality, operators.NotEquals: equality,
			operators.Less: order, operators.LessEquals: order, operators.Greater: order, operators.GreaterEquals: order,
			operators.In: membership, operators.OldIn: membership,
			"size": traversal, "dyn": constant,
			"bool": parsing, "int": parsing, "uint": parsing, "double": parsing, "duration": parsing, "timestamp": parsing,
			"string": traversal, "bytes": traversal,
			"charAt": traversal, "endsWith": order, "startsWith": order, "contains": traversal, "lowerAscii": traversal, "upperAscii": traversal,
			"substring": traversal, "trim": traversal, "strings.quote": quotation, "replace": replacement, "join": joining, "format": formatting,
			"indexOf": searching, "lastIndexOf": searching, "includes": membershipOf,
			"matches": matching, "find": matching,
			"sets.contains": pairs, "sets.equivalent": pairs, "sets.intersects": pairs,
			"isSorted": visiting, "max": visiting, "min": visiting, "sum": visiting,
			"hasValue": constant,
			"getDate":  zone, "getDayOfMonth": zone, "getDayOfWeek": zone, "getDayOfYear": zone, "getFullYear": zone, "getHours": zone,
			"getMilliseconds": zone, "getMinutes": zone, "getMonth": zone, "getSeconds": zone,
			"quantity": quantities, "isQuantity": quantities, "add": constant, "sub": constant, "sign": constant, "compareTo": constant,
			"isGreaterThan": constant, "isLessThan": constant, "isInteger": constant, "asInteger": constant, "asApproximateFloat": constant,
			"semver": parsing, "isSemver": parsing, "major": constant, "minor": constant, "patch": constant,
			"ip": parsing, "isIP": parsing, "ip.isCanonical": parsing, "family": constant, "isGlobalUnicast": constant, "isLinkLocalMulticast": constant,
			"isLinkLocalUnicast": constant, "isLoopback": constant, "isUnspecified": constant,
			"cidr": parsing, "isCIDR": parsing, "containsCIDR": parsing, "containsIP": parsing, "masked": constant, "prefixLength": constant,
			"url": address, "isURL": address, "getScheme": part, "getHost": part, "getHostname": part, "getPort": part, "getEscapedPath": part,
			"validate": validation, "format.named": parsing, "format.byte": constant, "format.date": constant, "format.datetime": constant,
			"format.dns1035Label": constant, "format.dns1035LabelPrefix": constant, "format.dns1123Label": constant, "format.dns1123LabelPrefix": constant,
			"format.dns1123Subdomain": constant, "format.dns1123SubdomainPrefix": constant, "format.labelValue": constant,
			"format.qualifiedName": constant, "format.uri": constant, "format.uuid": constant,
		}},
		{list, map[string]func([]ref.Val, int64) int64{"split": splitting, "findAll": matchingAll, "lists.range": counting, "getQuery": query}},
		{same, map[string]func([]ref.Val, int64) int64{
			operators.Conditional: constant, operators.Index: constant, operators.Add: addition,
			"slice": elements, "reverse": visiting, "distinct": distinction, "flatten": visiting, "sort": sorting, "value": constant,
			"orValue": constant, "or": constant,
			"optional.unwrap": elements, "unwrapOpt": elements, "optional.none": constant, "cel.@mapInsert": insertion,
		}},
		{wrapped, map[string]func([]ref.Val, int64) int64{
			"type":        constant,
			"optional.of": constant, "optional.ofNonZeroValue": constant, "first": constant, "last": constant,
		}},
		{selected, map[string]func([]ref.Val, int64) int64{operators.OptIndex: constant, operators.OptSelect: constant}},
	} {
		for name, work := range part.works {
			all[name] = function{work, part.depth}
		}
	}
	return all
}

func constant([]ref.Val, int64) int64 { return 1 }

// visiting is a visit of all parts of all arguments.
func visiting(args []ref.Val, most int64) int64 {
	sum := int64(1)
	for _, arg := range args {
		if sum > most {
			break
		}
		sum += 2 * sizeOf(arg, most-sum)
	}
	return sum
}

// elements is a copy of a list, whose elements are not visited.
func elements(args []ref.Val, _ int64) int64 { return 1 + lengthOf(args[0]) }

// traversal is a traversal of all strings among the arguments.
func traversal(args []ref.Val, _ int64) int64 {
	sum := int64(1)
	for _, arg := range args {
		sum += textLength(arg) / 10
	}
	return sum
}

// textLength returns the length of a string or of bytes, and 0 for other values.
func textLength(value ref.Val) int64 {
	switch value.(type) {
	case types.String, types.Bytes:
		return lengthOf(value)
	}
	return 0
}

// quotation is a traversal that writes several bytes for some.
func quotation(args []ref.Val, most int64) int64 { return 3 * traversal(args, most) }

func splitting(args []ref.Val, _ int64) int64 { return 1 + textLength(args[0])*3/10 }

func equality(args []ref.Val, most int64) int64 { return 3 * commonSize(args[0], args[1], most) }

func order(args []ref.Val, _ int64) int64 {
	return 1 + min(textLength(args[0]), textLength(args[1]))/10
}

func membership(args []ref.Val, most int64) int64 {
	if _, isMap := args[1].(traits.Mapper); isMap {
		return 1 + textLength(args[0])/10
	}
	return product(1+lengthOf(args[1]), 1+sizeOf(args[0], most))
}

func membershipOf(args []ref.Val, most int64) int64 {
	return membership([]ref.Val{args[1], args[0]}, most)
}

// searching is indexOf of a string in a string, or of a value in a list.
func searching(args []ref.Val, most int64) int64 {
	if _, isList := args[0].(traits.Lister); isList {
		return membershipOf(args, most)
	}
	text, searched := textLength(args[0]), textLength(args[1])
	return 1 + (text+searched)/10 + product(text, searched)/50
}

func addition(args []ref.Val, _ int64) int64 {
	switch args[0].(type) {
	case traits.MutableLister:
		return 1 + lengthOf(args[1])
	case traits.Lister:
		return 1 + lengthOf(args[0]) + lengthOf(args[1])
	}
	return traversal(args, 0)
}

// insertion is an insertion into the map that the macro transformMap makes.
func insertion(args []ref.Val, _ int64) int64 {
	if len(args) == 2 {
		return 1 + lengthOf(args[1])
	}
	return 1 + textLength(args[1])/10
}

func distinction(args []ref.Val, most int64) int64 {
	return product(1+lengthOf(args[0]), sizeOf(args[0], most))
}

func sorting(args []ref.Val, most int64) int64 { return product(40, sizeOf(args[0], most)) }

func pairs(args []ref.Val, most int64) int64 {
	a, b := sizeOf(args[0], most), sizeOf(args[1], most)
	return a + b + 2*min(product(1+lengthOf(args[1]), a), product(1+lengthOf(args[0]), b))
}

func counting(args []ref.Val, _ int64) int64 {
	count, _ := args[0].(types.Int)
	return 1 + max(0, int64(count))
}

// replacement is at most one new string for each occurrence of the old one.
func replacement(args []ref.Val, _ int64) int64 {
	text, old, fresh := textLength(args[0]), textLength(args[1]), textLength(args[2])
	return 1 + (text+product(text/max(1, old)+1, fresh))/5
}

func joining(args []ref.Val, most int64) int64 {
	separator := int64(0)
	if len(args) > 1 {
		separator = textLength(args[1])
	}
	return 1 + 2*sizeOf(args[0], most) + product(lengthOf(args[0]), separator)/5
}

// floating matches the verbs of a format that write all digits of a number: up to 300 before the point.
var floating = regexp.MustCompile(`%[.0-9]*[ef]`)

func formatting(args []ref.Val, most int64) int64 {
	work := 1 + textLength(args[0])/10 + product(20, lengthOf(args[1])+sizeOf(args[1], most))
	if text, ok := args[0].(types.String); ok && work < most {
		work += 400 * int64(len(floating.FindAllStringIndex(string(text), -1)))
	}
	return work
}

// matching is a match of a regular expression. Without a literal pattern, it is compiled as well.
func matching(args []ref.Val, _ int64) int64 {
	pattern, _ := args[1].(types.String)
	if len(pattern) > MaxPatternLength {
		return tooMuch
	}
	size, err := patternSize(string(pattern))
	if err != nil {
		return int64(1 + len(pattern))
	}
	return 100 + 10*int64(len(pattern)) + 10*int64(size) + matchWork(args[0], size)
}

// matchingAll begins again after each match, and each match may have read the text to its end.
func matchingAll(args []ref.Val, most int64) int64 {
	count := 1 + textLength(args[0])
	if len(args) > 2 {
		count = matches(args[2], count)
	}
	return product(count, matching(args, most))
}

// matches returns how many matches a call of findAll may return, from its limit and the maximum.
func matches(limit ref.Val, most int64) int64 {
	if n, ok := limit.(types.Int); ok && n >= 0 {
		return min(most, 1+int64(n))
	}
	return most
}

func matchWork(text ref.Val, size int) int64 {
	return 1 + product(1+textLength(text), int64(size))/10
}

// parsing is the parsing of a short string.
func parsing(args []ref.Val, _ int64) int64 {
	work := int64(10)
	for _, arg := range args {
		length := textLength(arg)
		if length > maxParsed {
			return tooMuch
		}
		work += length / 2
	}
	return work
}

// longExponent matches an exponent of three digits or more in a quantity. Sums of such quantities would
// have as many digits.
var longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{3}`)

// quantities is the parsing of a quantity.
func quantities(args []ref.Val, most int64) int64 {
	if text, ok := args[0].(types.String); ok && len(text) <= maxParsed && longExponent.MatchString(string(text)) {
		return tooMuch
	}
	return parsing(args, most)
}

// zone is a call that gets the name of a time zone, which is looked up.
func zone(args []ref.Val, _ int64) int64 {
	if len(args) == 1 {
		return 1
	}
	return 1000 + textLength(args[1])
}

const maxURL = 2048

func address(args []ref.Val, _ int64) int64 {
	if textLength(args[0]) > maxURL {
		return tooMuch
	}
	return 10 + textLength(args[0])/5
}

func part([]ref.Val, int64) int64 { return maxURL / 10 }

// query makes a map with an entry for each parameter of an address.
func query(args []ref.Val, most int64) int64 {
	work := part(args, most)
	if address, ok := args[0].Value().(*url.URL); ok {
		work += 10 * int64(1+strings.Count(address.RawQuery, "&"))
	}
	return work
}

func validation(args []ref.Val, _ int64) int64 {
	return 10 + product(1+textLength(args[1]), 20)/10
}

// product returns a times b, or tooMuch.
func product(a, b int64) int64 {
	if a != 0 && b > tooMuch/4/a {
		return tooMuch / 4
	}
	return a * b
}

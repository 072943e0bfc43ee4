// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// sizeOf returns the nested size of a value: one for each value in it, and one for each fifty bytes of
// a string. A value that is at several places counts at each place, because functions visit it at
// each place. The walk ends when the size exceeds most.
func sizeOf(value any, most int64) int64 {
	s := sizer{most: most}
	s.add(value)
	return s.size
}

// commonSize returns the smaller nested size of two values, in time that the smaller one bounds.
func commonSize(a, b any, most int64) int64 {
	for bound := int64(16); ; bound *= 8 {
		bound = min(bound, most)
		if size := min(sizeOf(a, bound), sizeOf(b, bound)); size <= bound || bound == most {
			return size
		}
	}
}

type sizer struct{ size, most int64 }

// add adds a value, and reports whether the size is still within its limit.
func (s *sizer) add(value any) bool {
	s.size++
	switch v := value.(type) {
	case string:
		s.size += int64(len(v)) / 50
	case types.String:
		s.size += int64(len(v)) / 50
	case []byte:
		s.size += int64(len(v)) / 50
	case types.Bytes:
		s.size += int64(len(v)) / 50
	case []any:
		for i := 0; i < len(v) && s.add(v[i]); i++ {
		}
	case []ref.Val:
		for i := 0; i < len(v) && s.add(v[i]); i++ {
		}
	case map[string]any:
		for name, element := range v {
			if s.size += int64(len(name)) / 50; !s.add(element) {
				break
			}
		}
	case map[ref.Val]ref.Val:
		for key, element := range v {
			if !s.add(key) || !s.add(element) {
				break
			}
		}
	case *types.Optional:
		if v.HasValue() {
			s.add(v.GetValue())
		}
	case traits.MutableLister, traits.MutableMapper:
		// Only the expansions of macros see such a value, and they do not visit it.
	case traits.Mapper:
		s.addMap(v)
	case traits.Lister:
		s.addList(v)
	}
	return s.size <= s.most
}

func (s *sizer) addMap(m traits.Mapper) {
	switch native := m.Value().(type) {
	case map[string]any, map[ref.Val]ref.Val:
		s.add(native)
		return
	}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		element, _ := m.Find(key)
		if !s.add(key) || !s.add(element) {
			return
		}
	}
}

func (s *sizer) addList(l traits.Lister) {
	switch native := l.Value().(type) {
	case []any, []ref.Val:
		s.add(native)
		return
	}
	for i := range lengthOf(l) {
		if !s.add(l.Get(types.Int(i))) {
			return
		}
	}
}

// lengthOf returns the number of elements of a list or map, or of bytes of a string, and 1 for
// other values.
func lengthOf(value ref.Val) int64 {
	switch v := value.(type) {
	case types.String:
		return int64(len(v))
	case types.Bytes:
		return int64(len(v))
	case traits.Sizer:
		if size, ok := v.Size().(types.Int); ok {
			return int64(size)
		}
	}
	return 1
}

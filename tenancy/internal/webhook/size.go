// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"fmt"
)

// maxSize is the maximum size in bytes of an LNamespace without its status. The status repeats the
// lists of members, with sudo by delegation those of the sudoers twice, and has the periods that wait
// for the billing table. Together they stay below 1.5 MiB, the limit of etcd. An LNamespace whose
// status can't be written is never billed, and never deleted.
const maxSize = 384 << 10

// tooLarge returns an error if an LNamespace is larger than maxSize, and larger than it was. So a
// large one from before the limit can still be changed. before is empty for a new LNamespace.
func tooLarge(before, now []byte) error {
	size, err := sizeWithoutStatus(now)
	if err != nil || size <= maxSize {
		return err
	}
	was, err := sizeWithoutStatus(before)
	if err != nil || size <= was {
		return err
	}
	return fmt.Errorf("the LNamespace has %d bytes without its status, and may have %d: its status would not fit beside it", size, maxSize)
}

func sizeWithoutStatus(text []byte) (int, error) {
	if len(text) == 0 {
		return 0, nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return 0, err
	}
	return len(text) - len(fields["status"]), nil
}

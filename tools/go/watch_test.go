// SPDX-License-Identifier: LGPL-2.1-or-later

// This file tests watches: an image has none, but the iterator reads any other descriptor.

package crabtree

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

func TestObserversOfAnImage(t *testing.T) {
	store, _ := newStore(t, FormatOptions{})
	defer store.Close()
	_, err := store.Watch(0, KeyMax, 0)
	fails(t, err, syscall.EOPNOTSUPP)
	_, err = store.WatchNames("", 0)
	fails(t, err, syscall.EOPNOTSUPP)
	_, err = store.Snapshot()
	fails(t, err, syscall.EOPNOTSUPP)
	if !strings.Contains(err.Error(), "an image, which has no watch and no snapshot") {
		t.Fatal(err)
	}
}

// A descriptor that has bytes as the one of a watch would
func openChanges(t *testing.T, changes []byte) int {
	path := filepath.Join(t.TempDir(), "changes")
	must(t, os.WriteFile(path, changes, 0o666))
	fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
	must(t, err)
	return fd
}

// The changes are those wanted, and then the watch has ended
func expectChanges[T any](t *testing.T, next func() (T, error), want []T) {
	for _, one := range want {
		got, err := next()
		must(t, err)
		if !reflect.DeepEqual(got, one) {
			t.Fatalf("%+v instead of %+v", got, one)
		}
	}
	if _, err := next(); err != io.EOF {
		t.Fatal(err)
	}
}

func TestNameWatch(t *testing.T) {
	type raw struct {
		Seq, Value, Old uint64
		Verb, Flags     uint32
		Bytes           uint16
		Length, Type    uint8
		Name            [28]byte
	}
	changes := []raw{{1, 7, 0, 1, 0, 64, 5, 5, [28]byte{'p', 'l', 'c', '/', 'a'}},
		{2, 0, 7, 3, 1, 64, 1, 0, [28]byte{'b'}}, {9, 6, 0, 0, 2, 64, 0, 0, [28]byte{}}}
	var want []NameChange
	var file bytes.Buffer
	for i := 0; i < 100; i++ { // more than one read has
		want = append(want, NameChange{Seq: 1, Name: "plc/a", Type: TypeU32, Version: 7},
			NameChange{Seq: 2, Name: "b", Old: 7, Existed: true, Removed: true}, NameChange{Seq: 9, Lost: 6})
		must(t, binary.Write(&file, binary.LittleEndian, changes))
	}
	watch := NameWatch{Watch: Watch{openChanges(t, file.Bytes())}}
	expectChanges(t, watch.Next, want)
	must(t, watch.Close())
}

func TestWatch(t *testing.T) {
	type raw struct {
		Seq, Key, Value, Old uint64
		Verb, Flags          uint32
	}
	var file bytes.Buffer
	for _, change := range []raw{{1, 5, 50, 0, 1, 0}, {2, 5, 60, 50, 1, 1}, {3, 5, 0, 60, 3, 1}, {9, 0, 6, 0, 0, 2}} {
		must(t, binary.Write(&file, binary.LittleEndian, change))
	}
	watch := Watch{openChanges(t, file.Bytes())}
	want := []Change{{Seq: 1, Key: 5, Value: 50}, {Seq: 2, Key: 5, Value: 60, Old: 50, Existed: true},
		{Seq: 3, Key: 5, Old: 60, Existed: true, Deleted: true}, {Seq: 9, Lost: 6}}
	expectChanges(t, watch.Next, want)
	must(t, watch.Close())
}

// A signal does not end a watch, and the end of the store does.
func TestWatchEnd(t *testing.T) {
	reads := []int{-int(syscall.EINTR), 3, -int(syscall.ENODEV)}
	for _, want := range []bool{true, false} {
		more, err := watchWait(func() int {
			one := reads[0]
			reads = reads[1:]
			return one
		})
		if err != nil || more != want {
			t.Fatal(more, err)
		}
	}
}

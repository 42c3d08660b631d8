// SPDX-License-Identifier: LGPL-2.1-or-later

// This file has named values of any length over a store: the StableStore of hashicorp/raft.
//
// Invariant: the root of a name is a single record that selects one of two halves. Set writes the
// half that is not selected, then the root: on a device, after a power cut the value is the old one
// or the new one. A power cut may damage an image that is open.

package crabtree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"syscall"
)

const (
	halfWords  = 0x7000
	valueBytes = halfWords * 8
)

// StableStore keeps named values. It owns all keys of its store.
type StableStore struct {
	store *Store
	mutex sync.Mutex
}

// NewStableStore returns a StableStore over an open store. No other program may write to that store.
func NewStableStore(store *Store) *StableStore {
	return &StableStore{store: store}
}

// A name has 65536 keys: its root, then the words of both halves.
func rootOf(name []byte) uint64 {
	hash := fnv.New64a()
	hash.Write(name)
	root := hash.Sum64() &^ 0xffff
	if root == ^uint64(0xffff) { // without the key that cannot be stored
		return 0
	}
	return root
}

func firstOf(root, half uint64) uint64 {
	return root + 1 + half*halfWords
}

// Clear removes the words of a half that an earlier value left there.
func (s *StableStore) clear(first uint64) error {
	var ops []Op
	err := s.store.Scan(first, first+halfWords-1, func(record Record) bool {
		ops = append(ops, DeleteOp(record.Key))
		return true
	})
	if err != nil {
		return err
	}
	return s.doAll(ops)
}

func (s *StableStore) doAll(ops []Op) error {
	if err := s.store.Batch(ops); err != nil {
		return err
	}
	for _, op := range ops {
		if _, err := op.Result(); err != nil {
			return err
		}
	}
	return nil
}

// Read returns the half of a name, and its content: the name and its value.
func (s *StableStore) read(root uint64) (half uint64, content []byte, err error) {
	selected, err := s.store.Search(root)
	if errors.Is(err, syscall.ENOENT) {
		return 1, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	half, length := selected>>32&1, selected&0xffffffff
	err = s.store.Scan(firstOf(root, half), firstOf(root, half)+halfWords-1, func(record Record) bool {
		content = binary.LittleEndian.AppendUint64(content, record.Value)
		return true
	})
	if err == nil && length > uint64(len(content)) {
		err = Error(syscall.EUCLEAN)
	}
	if err != nil {
		return 0, nil, err
	}
	return half, content[:length], nil
}

func prefixOf(name []byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(name))), name...)
}

func (s *StableStore) write(root, half uint64, content []byte) error {
	first, length := firstOf(root, half), uint64(len(content))
	if err := s.clear(first); err != nil {
		return err
	}
	var ops []Op
	for content = append(content, make([]byte, 7)...); len(content) >= 8; content = content[8:] {
		ops = append(ops, InsertOp(first+uint64(len(ops)), binary.LittleEndian.Uint64(content)))
	}
	if err := s.doAll(ops); err != nil {
		return err
	}
	if err := s.store.Sync(); err != nil {
		return err
	}
	if err := s.store.Insert(root, half<<32|length); err != nil {
		return err
	}
	return s.store.Sync()
}

// Set stores a value of up to 200 KiB under a name. It is durable when Set has returned; in
// an image, until the next write.
func (s *StableStore) Set(name, value []byte) error {
	content := append(prefixOf(name), value...)
	if len(content) > valueBytes {
		return Error(syscall.EFBIG)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	root := rootOf(name)
	half, old, err := s.read(root)
	if err != nil {
		return err
	}
	if old != nil && !bytes.HasPrefix(old, prefixOf(name)) {
		return fmt.Errorf("%q has the hash of another name", name)
	}
	return s.write(root, half^1, content)
}

// Get returns the value of a name; it is empty for a name that is not there.
func (s *StableStore) Get(name []byte) ([]byte, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, content, err := s.read(rootOf(name))
	if err != nil || !bytes.HasPrefix(content, prefixOf(name)) {
		return nil, err
	}
	return content[len(prefixOf(name)):], nil
}

// SetUint64 stores a number under a name.
func (s *StableStore) SetUint64(name []byte, value uint64) error {
	return s.Set(name, binary.LittleEndian.AppendUint64(nil, value))
}

// GetUint64 returns the number of a name; it is 0 for a name that is not there.
func (s *StableStore) GetUint64(name []byte) (uint64, error) {
	value, err := s.Get(name)
	if err != nil || len(value) != 8 {
		return 0, err
	}
	return binary.LittleEndian.Uint64(value), nil
}

// SPDX-License-Identifier: LGPL-2.1-or-later

// This file is the example of the manual: a store in an image.
package main

import (
	"crabtree"
	"fmt"
	"log"
	"os"
)

func run(path string) error {
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o666); err != nil {
		return err
	}
	store, err := crabtree.Open("file:" + path)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Format(crabtree.FormatOptions{Label: "first"}); err != nil {
		return err
	}
	if err := store.Insert(16, 42); err != nil { // on a device: durable on return
		return err
	}
	ops := []crabtree.Op{crabtree.InsertOp(17, 1), crabtree.SearchOp(16), crabtree.DeleteOp(17)}
	if err := store.Batch(ops); err != nil {
		return err
	}
	value, err := ops[1].Result()
	fmt.Println(value, err)
	return store.Scan(16, 31, func(record crabtree.Record) bool {
		fmt.Println(record.Key, record.Value)
		return true
	})
}

func main() {
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

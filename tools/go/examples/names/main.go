// SPDX-License-Identifier: LGPL-2.1-or-later

// This file is the example of the manual for variables: a store of names in an image.
package main

import (
	"crabtree"
	"fmt"
	"log"
	"os"
)

func run(store *crabtree.Store) error {
	version, err := store.Set("motor.hours", uint32(12)) // on a device: durable on return
	if err != nil {
		return err
	}
	if _, err := store.SetIf("motor.hours", uint32(13), version); err != nil { // ESTALE if it has changed
		return err
	}
	if _, err := store.Set("line1/state", "running"); err != nil {
		return err
	}
	hours, err := store.Variable("motor.hours")
	fmt.Println(hours.Value, hours.Type, err)
	return store.Names("line1/", func(entry crabtree.NameEntry) bool {
		fmt.Println(entry.Name, entry.Type, entry.Bytes)
		return true
	})
}

func main() {
	if err := os.WriteFile(os.Args[1], make([]byte, 8<<20), 0o666); err != nil {
		log.Fatal(err)
	}
	store, err := crabtree.Open("file:" + os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Format(crabtree.FormatOptions{Names: true}); err != nil {
		log.Fatal(err)
	}
	if err := run(store); err != nil {
		log.Fatal(err)
	}
}

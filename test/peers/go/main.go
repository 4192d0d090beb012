// Program peer is a server and a client of the Go SDK (2026-07-28 and before), for the tests of what stands between them.
package main

import (
	"fmt"
	"os"
)

var roles = map[string]func(){"server": serve, "client": drive, "sign-in": signIn, "by-hand": byHand}

func main() {
	if len(os.Args) == 2 {
		if play, ok := roles[os.Args[1]]; ok {
			play()
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: peer server|client|sign-in|by-hand")
	os.Exit(2)
}

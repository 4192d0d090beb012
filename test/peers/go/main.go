// Program peer is a server and a client of the Go SDK (2026-07-28 and before), for the tests of what stands between them.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "server" {
		serve()
	} else if len(os.Args) == 2 && os.Args[1] == "client" {
		drive()
	} else {
		fmt.Fprintln(os.Stderr, "usage: peer server|client")
		os.Exit(2)
	}
}

// CoreDNS with the few plugins that a cluster's own names need; the stock main links several dozen.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func init() {
	// The order in which the plugins see a query.
	dnsserver.Directives = []string{"errors", "ready", "cache", "kubernetes"}
}

func main() {
	coremain.Run()
}

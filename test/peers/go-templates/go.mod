module vmcp.test/peers/go-templates

go 1.26

module olap-warden/clients

go 1.23

require github.com/startreedata/pinot-client-go v0.8.0

require (
	github.com/go-zookeeper/zk v1.0.4 // indirect
	github.com/sirupsen/logrus v1.9.3 // indirect
	golang.org/x/sys v0.7.0 // indirect
)

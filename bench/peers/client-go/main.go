// The stock way in Go: shared informers of Nodes and of the Leases of kube-node-lease, full objects, protobuf, and a
// note of when each Lease was last seen to change. Prints "synced" when both caches are complete.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		panic(err)
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client := kubernetes.NewForConfigOrDie(config)

	stop := make(chan struct{})
	all := informers.NewSharedInformerFactory(client, 0)
	heartbeats := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("kube-node-lease"))
	nodes := all.Core().V1().Nodes().Informer()
	leases := heartbeats.Coordination().V1().Leases().Informer()

	var lock sync.Mutex
	seen := map[string]time.Time{}
	note := func(object any) {
		if lease, ok := object.(*coordinationv1.Lease); ok {
			lock.Lock()
			seen[lease.Name] = time.Now()
			lock.Unlock()
		}
	}
	if _, err := leases.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    note,
		UpdateFunc: func(_, object any) { note(object) },
	}); err != nil {
		panic(err)
	}
	all.Start(stop)
	heartbeats.Start(stop)
	if !cache.WaitForCacheSync(stop, nodes.HasSynced, leases.HasSynced) {
		panic("no sync")
	}
	fmt.Println("synced", len(nodes.GetStore().ListKeys()), len(leases.GetStore().ListKeys()))
	for {
		time.Sleep(time.Second)
		stale := 0
		lock.Lock()
		for _, at := range seen {
			if time.Since(at) > 12*time.Second {
				stale++
			}
		}
		lock.Unlock()
	}
}

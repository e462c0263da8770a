// The node's part of a CSI driver, as little of it as a kubelet needs: a volume is a directory named by its handle, and
// publishing it is a bind mount. With --server it is a block device of that server (block.go). Attaching is somebody else's:
// the driver has no controller.
//
//	csi-plugin --driver=NAME --node-id=ID --socket=PATH --registry=DIR --volumes=DIR [--server=HOST:PORT]
package main

import (
	"bytes"
	"context"
	"flag"
	"log"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func main() {
	driver := flag.String("driver", "", "name of the driver")
	nodeID := flag.String("node-id", "", "name of the node in the storage system")
	socket := flag.String("socket", "", "where the driver is served")
	registry := flag.String("registry", "", "the kubelet's directory for the sockets of new plugins")
	volumes := flag.String("volumes", "", "the directory that holds the volumes")
	server := flag.String("server", "", "host and port of the server that has the volumes")
	flag.Parse()

	node := &node{id: *nodeID, volumes: *volumes, server: *server}
	plugin := grpc.NewServer()
	csi.RegisterIdentityServer(plugin, &identity{driver: *driver})
	csi.RegisterNodeServer(plugin, node)
	registrar := grpc.NewServer()
	registration.RegisterRegistrationServer(registrar, &registrant{driver: *driver, socket: *socket})

	failed := make(chan error)
	go func() { failed <- serve(plugin, *socket) }()
	go func() { failed <- serve(registrar, filepath.Join(*registry, *driver+"-reg.sock")) }()
	log.Fatal(<-failed)
}

func serve(server *grpc.Server, socket string) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o750); err != nil {
		return err
	}
	// Of a process that was killed: nobody listens on it.
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	return server.Serve(listener)
}

type registrant struct {
	registration.UnimplementedRegistrationServer
	driver, socket string
}

func (r *registrant) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type:              registration.CSIPlugin,
		Name:              r.driver,
		Endpoint:          r.socket,
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (r *registrant) NotifyRegistrationStatus(
	_ context.Context, result *registration.RegistrationStatus,
) (*registration.RegistrationStatusResponse, error) {
	if !result.PluginRegistered {
		log.Printf("the kubelet does not want the driver: %s", result.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}

type identity struct {
	csi.UnimplementedIdentityServer
	driver string
}

func (i *identity) GetPluginInfo(
	context.Context, *csi.GetPluginInfoRequest,
) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: i.driver, VendorVersion: "1"}, nil
}

func (i *identity) GetPluginCapabilities(
	context.Context, *csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

func (i *identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

type node struct {
	csi.UnimplementedNodeServer
	id, volumes, server string
}

func (n *node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: n.id}, nil
}

func (n *node) NodeGetCapabilities(
	context.Context, *csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	if n.server == "" {
		return &csi.NodeGetCapabilitiesResponse{}, nil
	}
	rpc := &csi.NodeServiceCapability_RPC{Type: csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}
	stages := &csi.NodeServiceCapability{Type: &csi.NodeServiceCapability_Rpc{Rpc: rpc}}
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{stages}}, nil
}

func (n *node) NodePublishVolume(
	_ context.Context, request *csi.NodePublishVolumeRequest,
) (*csi.NodePublishVolumeResponse, error) {
	source := filepath.Join(n.volumes, filepath.Base(request.VolumeId))
	if n.server != "" {
		source = request.StagingTargetPath
	}
	for _, dir := range []string{source, request.TargetPath} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, failure(err)
		}
	}
	if isMounted(request.TargetPath) {
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if err := syscall.Mount(source, request.TargetPath, "", syscall.MS_BIND, ""); err != nil {
		return nil, failure(err)
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func (n *node) NodeUnpublishVolume(
	_ context.Context, request *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	// Not mounted, or not even there: then there is nothing left to do.
	if err := syscall.Unmount(request.TargetPath, 0); err != nil && err != syscall.EINVAL && err != syscall.ENOENT {
		return nil, failure(err)
	}
	// Only the empty directory, never what a volume holds.
	if err := os.Remove(request.TargetPath); err != nil && !os.IsNotExist(err) {
		return nil, failure(err)
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

// Asked again for a volume that it published already, a driver must not stack a second mount on the first.
func isMounted(path string) bool {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && bytes.Contains(mounts, []byte(" "+path+" "))
}

func failure(err error) error {
	return status.Error(codes.Internal, err.Error())
}

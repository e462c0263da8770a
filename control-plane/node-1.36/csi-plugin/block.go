package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Where a server has the volumes, staging one connects the node to it: a block device over the network, with ext4 on it.
// The kernel's own client for this protocol may be missing and cannot be loaded into a namespace, so that it is one in user
// space, which shows the volume as a file; a loop device makes a block device of that. It is a process of the node, and what
// it has not sent when the node dies is lost.

// How long a server may take to answer before the kubelet is told, which tries again.
const connectTimeout = 20 * time.Second

func (n *node) NodeStageVolume(
	_ context.Context, request *csi.NodeStageVolumeRequest,
) (*csi.NodeStageVolumeResponse, error) {
	if isMounted(request.StagingTargetPath) {
		return &csi.NodeStageVolumeResponse{}, nil
	}
	disk, err := n.connect(request.VolumeId)
	if err != nil {
		return nil, failure(err)
	}
	if err := os.MkdirAll(request.StagingTargetPath, 0o755); err != nil {
		return nil, failure(err)
	}
	if err := formatted(disk); err != nil {
		return nil, failure(err)
	}
	if err := run("mount", "-t", "ext4", "-o", "loop,noatime", disk, request.StagingTargetPath); err != nil {
		return nil, failure(err)
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

func (n *node) NodeUnstageVolume(
	_ context.Context, request *csi.NodeUnstageVolumeRequest,
) (*csi.NodeUnstageVolumeResponse, error) {
	// First the file system, which writes what it still has, then the connection.
	for _, path := range []string{request.StagingTargetPath, n.connectionOf(request.VolumeId)} {
		if err := syscall.Unmount(path, 0); err != nil && err != syscall.EINVAL && err != syscall.ENOENT {
			return nil, status.Error(codes.Internal, path+": "+err.Error())
		}
	}
	return &csi.NodeUnstageVolumeResponse{}, nil
}

func (n *node) connectionOf(volume string) string {
	return filepath.Join(n.volumes, filepath.Base(volume))
}

// Answers the path of the file that is the volume.
func (n *node) connect(volume string) (string, error) {
	dir := n.connectionOf(volume)
	disk := filepath.Join(dir, "disk")
	if isMounted(dir) {
		if _, err := os.Stat(disk); err == nil {
			return disk, nil
		}
		// Its process has ended, and the mount leads nowhere.
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	client := exec.Command("nbdfuse", disk, fmt.Sprintf("nbd://%s/%s", n.server, filepath.Base(volume)))
	client.Stderr = os.Stderr
	// A driver that is started again must not take the volumes of running pods with it.
	client.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := client.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- client.Wait() }()
	deadline := time.After(connectTimeout)
	for !isMounted(dir) {
		select {
		case err := <-ended:
			return "", fmt.Errorf("no connection to %s: %v", n.server, err)
		case <-deadline:
			_ = client.Process.Kill()
			return "", fmt.Errorf("no connection to %s within %s", n.server, connectTimeout)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return disk, nil
}

// Makes a file system on a volume that is blank, and on no other.
func formatted(disk string) error {
	file, err := os.Open(disk)
	if err != nil {
		return err
	}
	head := make([]byte, 4096)
	_, err = file.ReadAt(head, 0)
	_ = file.Close()
	if err != nil {
		return err
	}
	const magicAt, magic = 1024 + 56, 0xef53
	if binary.LittleEndian.Uint16(head[magicAt:]) == magic {
		return nil
	}
	for _, one := range head {
		if one != 0 {
			return fmt.Errorf("the volume is neither blank nor has it a file system")
		}
	}
	return run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", disk)
}

func run(program string, args ...string) error {
	output, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, output)
	}
	return nil
}

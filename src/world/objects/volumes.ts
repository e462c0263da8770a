/** Volumes, the claims on them, and what attaches them to nodes. */
import { createHash } from 'node:crypto';
import type { KubeObject } from '../../kube/client.ts';
import type { LabelSelector } from './meta.ts';
import type { NodeSelectorTerm } from './nodes.ts';

export interface PersistentVolumeClaim extends KubeObject {
  spec?: {
    volumeName?: string;
    accessModes?: string[];
    storageClassName?: string;
    volumeMode?: string;
    selector?: LabelSelector;
    resources?: { requests?: { storage?: string } };
  };
  status?: Record<string, unknown> & { phase?: string };
}

export interface PersistentVolume extends KubeObject {
  spec: {
    csi?: { driver: string; volumeHandle: string };
    capacity?: { storage?: string };
    accessModes?: string[];
    storageClassName?: string;
    volumeMode?: string;
    persistentVolumeReclaimPolicy?: string;
    claimRef?: { apiVersion?: string; kind?: string; namespace: string; name: string; uid?: string };
    nodeAffinity?: { required?: { nodeSelectorTerms: NodeSelectorTerm[] } };
  };
  status?: Record<string, unknown> & { phase?: string };
}

export interface StorageClass extends KubeObject {
  provisioner: string;
  reclaimPolicy?: string;
  volumeBindingMode?: string;
}

export interface CsiDriver extends KubeObject {
  spec: { attachRequired?: boolean };
}

export interface CsiNode extends KubeObject {
  spec: { drivers: { name: string; nodeID: string; topologyKeys: string[] | null }[] };
}

export interface VolumeAttachment extends KubeObject {
  spec: {
    attacher: string;
    nodeName: string;
    source: { persistentVolumeName?: string; inlineVolumeSpec?: { csi?: { driver?: string; volumeHandle?: string } } };
  };
  status?: {
    attached: boolean;
    attachError?: { time?: string; message?: string };
    detachError?: { time?: string; message?: string };
  };
}

/** The name under which Kubernetes knows a CSI volume on a node. */
export function attachNameOf(driver: string, handle: string): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}

/** The attach-detach controller derives the name of a VolumeAttachment from what it attaches, and to what. */
export function attachmentNameOf(driver: string, handle: string, nodeName: string): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex')}`;
}

/** The images that run on real nodes, made from files of this machine: no registry is asked. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const pauseImage = 'fenceline.test/pause:1';
/** Its arguments say how it behaves: control-plane/node-*\/workload. */
export const workloadImage = 'fenceline.test/workload:1';

/** Of the pods that serve replicas, by the name that the simulated storage calls it. */
const instanceManagerImage = 'docker.io/example/instance-manager:1';

interface Blob {
  digest: string;
  size: number;
}

/** How a container of an image is started, as OCI has it. */
export interface ImageConfig {
  Entrypoint: string[];
  Cmd?: string[];
  Env?: string[];
  User?: string;
}

interface Image {
  name: string;
  config: ImageConfig;
}

/** Writes one archive with the images that every node has into `dir`; answers its path. */
export async function makeImages(dir: string, program: string): Promise<string> {
  const root = join(dir, 'root');
  await mkdir(root, { recursive: true });
  await copyFile(program, join(root, 'workload'));
  return makeArchive(dir, root, [
    { name: pauseImage, config: { Entrypoint: ['/workload', 'pause'] } },
    { name: workloadImage, config: { Entrypoint: ['/workload'] } },
    { name: instanceManagerImage, config: { Entrypoint: ['/workload', 'run'] } },
  ]);
}

/** Images of one layer, which is what is in `root`. */
export async function makeArchive(dir: string, root: string, images: readonly Image[]): Promise<string> {
  const layout = join(dir, 'layout');
  const blobs = join(layout, 'blobs', 'sha256');
  await mkdir(blobs, { recursive: true });
  const layerPath = join(dir, 'layer.tar');
  await run('tar', ['--create', '--file', layerPath, '--owner=0', '--group=0', '--directory', root, '.']);
  const layer = await addBlob(blobs, await readFile(layerPath));
  const manifests: object[] = [];
  for (const image of images) manifests.push(await addImage(blobs, layer, image));
  await writeFile(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  await writeFile(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
  const archive = join(dir, 'images.tar');
  await run('tar', ['--create', '--file', archive, '--directory', layout, '.']);
  return archive;
}

async function addImage(blobs: string, layer: Blob, { name, config: started }: Image): Promise<object> {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const config = await addBlob(
    blobs,
    JSON.stringify({
      architecture,
      os: 'linux',
      config: started,
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    }),
  );
  const oci = 'application/vnd.oci.image';
  const manifest = await addBlob(
    blobs,
    JSON.stringify({
      schemaVersion: 2,
      mediaType: `${oci}.manifest.v1+json`,
      config: { mediaType: `${oci}.config.v1+json`, ...config },
      layers: [{ mediaType: `${oci}.layer.v1.tar`, ...layer }],
    }),
  );
  return {
    mediaType: `${oci}.manifest.v1+json`,
    ...manifest,
    platform: { architecture, os: 'linux' },
    annotations: { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name },
  };
}

async function addBlob(blobs: string, content: string | Buffer): Promise<Blob> {
  const hash = createHash('sha256').update(content).digest('hex');
  await writeFile(join(blobs, hash), content);
  return { digest: `sha256:${hash}`, size: Buffer.byteLength(content) };
}

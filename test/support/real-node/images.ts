/** The images that run on real nodes, made from one static program: no registry is asked. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const pauseImage = 'fenceline.test/pause:1';
/** Its arguments say how it behaves: control-plane/node-*\/workload. */
export const workloadImage = 'fenceline.test/workload:1';

interface Blob {
  digest: string;
  size: number;
}

/** Writes one archive with all images into `dir`; answers its path. */
export async function makeImages(dir: string, program: string): Promise<string> {
  const layout = join(dir, 'layout');
  const blobs = join(layout, 'blobs', 'sha256');
  const root = join(dir, 'root');
  await mkdir(blobs, { recursive: true });
  await mkdir(root, { recursive: true });
  await copyFile(program, join(root, 'workload'));
  const layerPath = join(dir, 'layer.tar');
  await run('tar', ['--create', '--file', layerPath, '--owner=0', '--group=0', '--directory', root, 'workload']);
  const layer = await addBlob(blobs, await readFile(layerPath));
  const manifests = [
    await addImage(blobs, layer, { name: pauseImage, entrypoint: ['/workload', 'pause'] }),
    await addImage(blobs, layer, { name: workloadImage, entrypoint: ['/workload'] }),
  ];
  await writeFile(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  await writeFile(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
  const archive = join(dir, 'images.tar');
  await run('tar', ['--create', '--file', archive, '--directory', layout, '.']);
  return archive;
}

async function addImage(
  blobs: string,
  layer: Blob,
  { name, entrypoint }: { name: string; entrypoint: string[] },
): Promise<object> {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const config = await addBlob(
    blobs,
    JSON.stringify({
      architecture,
      os: 'linux',
      config: { Entrypoint: entrypoint },
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

/**
 * The slim image of the Containerfile without a container builder: the same bundle, Node and settings, on the C library of this
 * machine in place of Debian's base.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { bundle } from '../../build/bundle.ts';
import { makeArchive, type ImageConfig } from './real-node/images.ts';

const run = promisify(execFile);

/** The lines of the stage that is built, by their first word. */
async function slimStage(): Promise<(word: string) => string> {
  const text = (await readFile('Containerfile', 'utf8')).replaceAll(/\\\n/g, ' ');
  const [, stage = ''] = /^FROM \S+ AS slim\n([\s\S]*?)^FROM /m.exec(text) ?? [];
  return (word) => {
    const found = [...stage.matchAll(new RegExp(`^${word} (.*)$`, 'gm'))].map(([, rest = '']) => rest);
    if (found.length !== 1 || found[0] === undefined) throw new Error(`the Containerfile has not one ${word} for slim`);
    return found[0];
  };
}

async function configOf(line: (word: string) => string): Promise<ImageConfig> {
  return {
    Entrypoint: JSON.parse(line('ENTRYPOINT')) as string[],
    Cmd: JSON.parse(line('CMD')) as string[],
    Env: line('ENV').split(' '),
    User: line('USER'),
  };
}

/** Writes an archive into `dir`; answers its path. */
export async function makeSlimImage(dir: string, name: string): Promise<string> {
  const line = await slimStage();
  const root = join(dir, 'root');
  await bundle(join(root, 'opt/fenceline'));
  for (const file of [process.execPath, ...(await librariesOf(process.execPath))]) {
    const target = join(root, file === process.execPath ? '/usr/local/bin/node' : file);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(file, target);
  }
  await mkdir(join(root, 'etc'), { recursive: true });
  await mkdir(join(root, 'tmp'), { mode: 0o1777 });
  const written = [...line('RUN').matchAll(/echo '([^']*)' >> (\/etc\/\w+)/g)];
  for (const [, entry = '', file = ''] of written) await writeFile(join(root, file), `${entry}\n`);
  return makeArchive(dir, root, [{ name, config: await configOf(line) }]);
}

/** Where the loader finds them. */
async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await run('ldd', [program]);
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
}

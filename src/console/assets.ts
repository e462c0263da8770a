/** The page as it is sent: beside the program where that was packed, and made from its sources in a checkout. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

export interface Asset {
  type: string;
  body: Buffer;
  etag: string;
}

const files = {
  '/': { name: 'index.html', type: 'text/html; charset=utf-8' },
  '/page.js': { name: 'page.js', type: 'text/javascript; charset=utf-8' },
  '/page.css': { name: 'page.css', type: 'text/css; charset=utf-8' },
} as const;

/** By path. */
export async function loadAssets(): Promise<ReadonlyMap<string, Asset>> {
  const packed = new URL('./console/', import.meta.url);
  const made = existsSync(packed) ? undefined : await makePage();
  return new Map(
    Object.entries(files).map(([path, { name, type }]) => {
      const body = Buffer.from(made?.[name] ?? readFileSync(new URL(name, packed)));
      return [path, { type, body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }];
    }),
  );
}

/** The name is made up at run time, so that what packs the program does not take the packer along. */
async function makePage(): Promise<Record<string, string>> {
  const { pageFiles } = (await import(new URL('../../build/page.ts', import.meta.url).href)) as {
    pageFiles: () => Promise<Record<string, string>>;
  };
  return pageFiles();
}

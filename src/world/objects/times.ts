/** How the API writes times. */

/** `Time` of the API: whole seconds. */
export function apiTime(nowMs: number): string {
  const second = Math.floor(nowMs / 1000);
  // Asked for with every write, and the answer is the same for a whole second.
  if (second !== lastTime.second) lastTime = { second, text: `${new Date(second * 1000).toISOString().slice(0, 19)}Z` };
  return lastTime.text;
}

let lastTime = { second: Number.NaN, text: '' };

/** `MicroTime` of the API. */
export function apiMicroTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, -1)}000Z`;
}

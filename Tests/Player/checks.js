// What tests of the player's parts need: assertions, random numbers with a seed, and a reader of the fMP4 that it writes.

export function equal(found, expected, what = "") {
  const [one, other] = [found, expected].map(value => JSON.stringify(value));
  if (one !== other) throw new Error(`${what}: found ${one}; expected ${other}`);
}

export function check(condition, what) { if (!condition) throw new Error(what); }

export function throws(body, kind, what) {
  try { body(); } catch (error) { return check(error instanceof kind, `${what}: threw ${error}`); }
  throw new Error(`${what}: did not throw`);
}

/** mulberry32 */
export function randomNumbers(seed) {
  return () => {
    seed = seed + 0x6D2B79F5 | 0;
    let value = Math.imul(seed ^ seed >>> 15, 1 | seed);
    value = value + Math.imul(value ^ value >>> 7, 61 | value) ^ value;
    return ((value ^ value >>> 14) >>> 0) / 2 ** 32;
  };
}

export const bytes = text => Uint8Array.from(text.match(/../g) ?? [], pair => parseInt(pair, 16));

/** Returns boxes by their paths, `moof/traf/tfdt`. */
function boxes(data, prefix = "", found = {}) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at + 8 <= data.length;) {
    const size = view.getUint32(at), name = String.fromCharCode(...data.subarray(at + 4, at + 8));
    check(size >= 8 && at + size <= data.length, `${prefix}${name} has ${size} bytes of ${data.length - at}`);
    found[prefix + name] = data.subarray(at + 8, at + size);
    if (["moof", "traf", "moov", "trak", "mdia", "minf", "stbl", "mvex"].includes(name)) boxes(found[prefix + name], `${prefix}${name}/`, found);
    at += size;
  }
  return found;
}

/** Reads a segment: its name, or its frames with decoding times and presentation times in ticks. */
export function read(segment) {
  const parts = boxes(segment.bytes);
  if (parts.moov) return { type: segment.type, entry: parts["moov/trak/mdia/minf/stbl/stsd"] };
  const view = name => { const part = parts[`moof/traf/${name}`]; return new DataView(part.buffer, part.byteOffset, part.byteLength); };
  const tfdt = view("tfdt"), trun = view("trun");
  check(tfdt.getUint8(0) === 1 && trun.getUint8(0) === 1, "64 bits, and signed offsets");
  let time = Number(tfdt.getBigUint64(4)), size = 0;
  const frames = [];
  for (let index = 0, at = 12; index < trun.getUint32(4); index++, at += 16) {
    const length = trun.getUint32(at);
    frames.push({ time, length, shown: time + trun.getInt32(at + 12), isKey: trun.getUint32(at + 8) === 0x02000000 });
    size += trun.getUint32(at + 4);
    time += length;
  }
  equal(parts.mdat.length, size, "bytes of the frames");
  equal(trun.getInt32(8), segment.bytes.length - size, "the first byte of the frames");
  return { frames };
}

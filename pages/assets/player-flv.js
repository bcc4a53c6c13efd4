// Reads an FLV stream incrementally (Adobe Flash Video File Format 10.1, annex E; Enhanced RTMP v1 for H.265).

/** Concatenates byte arrays. @param {ArrayLike<number>[]} parts @returns {Uint8Array} */
export function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) { bytes.set(part, at); at += part.length; }
  return bytes;
}

/**
 * Splits a stream into tags. Buffers at most one unfinished tag, up to 16 MiB.
 * `onTag(kind, time, body)`: the tag's type, its decoding time in ms (0…2³²−1) and its bytes.
 */
export class FLVReader {
  #rest = new Uint8Array(0);
  #isOpen = false;
  /** @param {(kind: number, time: number, body: Uint8Array) => void} onTag */
  constructor(onTag) { this.onTag = onTag; }

  /** @param {Uint8Array} piece @throws {Error} The bytes are not FLV. */
  push(piece) {
    const bytes = this.#rest.length ? joined([this.#rest, piece]) : piece;
    let at = 0;
    if (!this.#isOpen && bytes.length >= 13) {
      if (bytes[0] !== 0x46 || bytes[1] !== 0x4C || bytes[2] !== 0x56) throw new Error("The server's answer is not FLV");
      at = 13;
      this.#isOpen = true;
    }
    while (this.#isOpen && bytes.length - at >= 11) {
      const size = bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
      if (bytes.length - at < size + 15) break;
      const time = (bytes[at + 7] << 24 | bytes[at + 4] << 16 | bytes[at + 5] << 8 | bytes[at + 6]) >>> 0;
      this.onTag(bytes[at] & 31, time, bytes.subarray(at + 11, at + 11 + size));
      at += size + 15;
    }
    this.#rest = bytes.slice(at);
  }
}

/** Returns the text of a script tag `onLayout`, otherwise "". @param {Uint8Array} body */
export function layoutIn(body) {
  const read = (from, to) => new TextDecoder().decode(body.subarray(from, to));
  return read(3, 11) === "onLayout" ? read(16) : "";
}

/**
 * @typedef {object} Unit The content of a tag.
 * @property {"video" | "audio"} kind
 * @property {"avc" | "hevc" | "aac" | string} codec Other codecs by their names in FLV.
 * @property {boolean} isConfig Whether `data` is a codec configuration, not a frame.
 * @property {boolean} isKey
 * @property {number} offset Presentation time minus decoding time, in ms.
 * @property {Uint8Array} data
 */

const signed24 = (bytes, at) => (bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8) >> 8;

/** Reads the body of a tag. @param {number} kind @param {Uint8Array} body @returns {Unit | null} `null` if the tag has nothing to play. */
export function readUnit(kind, body) {
  if (kind === 8 && body.length > 2) {
    const codec = body[0] >> 4 === 10 ? "aac" : `audio codec ${body[0] >> 4}`;
    return { kind: "audio", codec, isConfig: body[1] === 0, isKey: true, offset: 0, data: body.subarray(2) };
  }
  if (kind !== 9 || body.length < 6) return null;
  const isKey = (body[0] >> 4 & 7) === 1;
  if (!(body[0] & 0x80)) {
    const codec = { 7: "avc", 12: "hevc" }[body[0] & 15] ?? `video codec ${body[0] & 15}`;
    return body[1] > 1 ? null
      : { kind: "video", codec, isConfig: body[1] === 0, isKey, offset: signed24(body, 2), data: body.subarray(5) };
  }
  const name = String.fromCharCode(...body.subarray(1, 5)), type = body[0] & 15;
  const codec = { avc1: "avc", hvc1: "hevc" }[name] ?? name;
  // Frames of type 1 have an offset, those of type 3 have none.
  if (type !== 0 && type !== 1 && type !== 3) return null;
  const hasOffset = type === 1 && (codec === "avc" || codec === "hevc");
  if (hasOffset && body.length < 8) return null;
  return { kind: "video", codec, isConfig: type === 0, isKey, offset: hasOffset ? signed24(body, 5) : 0,
    data: body.subarray(hasOffset ? 8 : 5) };
}

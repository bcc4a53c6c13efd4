// Reads codec configurations and the texts that pictures carry (SEI).

/** Reads bits and Exp-Golomb codes. Beyond the end it reads zeros. */
class Bits {
  #at = 0;
  constructor(bytes) { this.bytes = bytes; }
  get isOver() { return this.#at >= this.bytes.length * 8; }
  bit() { return this.isOver ? 0 : this.bytes[this.#at >> 3] >> (7 - (this.#at++ & 7)) & 1; }
  bits(count) { let value = 0; while (count--) value = value * 2 + this.bit(); return value; }
  golomb() {
    let zeros = 0;
    while (zeros < 32 && !this.isOver && !this.bit()) zeros++;
    return 2 ** zeros - 1 + this.bits(zeros);
  }
  signed() { const value = this.golomb(); return value & 1 ? (value + 1) / 2 : -value / 2; }
}

/** Removes emulation prevention bytes from a NAL unit (H.264 §7.4.1). @param {Uint8Array} unit @returns {Uint8Array} */
function withoutEmulation(unit) {
  const bytes = new Uint8Array(unit.length);
  let size = 0, zeros = 0;
  for (const byte of unit) {
    if (zeros >= 2 && byte === 3) { zeros = 0; continue; }
    bytes[size++] = byte;
    zeros = byte ? 0 : zeros + 1;
  }
  return bytes.subarray(0, size);
}

function skipScalingLists(bits, chroma) {
  for (let list = 0; list < (chroma === 3 ? 12 : 8); list++) {
    if (!bits.bit()) continue;
    for (let last = 8, next = 8, index = 0; index < (list < 6 ? 16 : 64); index++) {
      if (next) next = (last + bits.signed() + 256) % 256;
      last = next || last;
    }
  }
}

/** Reads the picture's size from a sequence parameter set of H.264 (§7.3.2.1.1). @param {Uint8Array} set */
export function avcSize(set) {
  const bits = new Bits(withoutEmulation(set.subarray(1))), profile = bits.bits(8);
  bits.bits(16);
  bits.golomb();
  let chroma = 1;
  if ([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].includes(profile)) {
    chroma = bits.golomb();
    if (chroma === 3) bits.bit();
    bits.golomb(); bits.golomb(); bits.bit();
    if (bits.bit()) skipScalingLists(bits, chroma);
  }
  bits.golomb();
  const order = bits.golomb();
  if (order === 0) bits.golomb();
  if (order === 1) {
    bits.bit(); bits.signed(); bits.signed();
    for (let count = bits.golomb(); count > 0 && !bits.isOver; count--) bits.signed();
  }
  bits.golomb(); bits.bit();
  let width = (bits.golomb() + 1) * 16, height = (bits.golomb() + 1) * 16;
  const isFrames = bits.bit();
  if (!isFrames) { height *= 2; bits.bit(); }
  bits.bit();
  if (bits.bit()) {
    width -= (bits.golomb() + bits.golomb()) * (chroma === 1 || chroma === 2 ? 2 : 1);
    height -= (bits.golomb() + bits.golomb()) * (chroma === 1 ? 2 : 1) * (isFrames ? 1 : 2);
  }
  return { width, height };
}

/** Reads the picture's size from a sequence parameter set of H.265 (§7.3.2.2.1). @param {Uint8Array} set */
export function hevcSize(set) {
  const bits = new Bits(withoutEmulation(set.subarray(2)));
  bits.bits(4);
  const layers = bits.bits(3);
  bits.bits(1 + 88 + 8);
  const present = [];
  for (let layer = 0; layer < layers; layer++) present.push([bits.bit(), bits.bit()]);
  if (layers) bits.bits(2 * (8 - layers));
  for (const [profile, level] of present) bits.bits((profile ? 88 : 0) + (level ? 8 : 0));
  bits.golomb();
  const chroma = bits.golomb();
  if (chroma === 3) bits.bit();
  let width = bits.golomb(), height = bits.golomb();
  if (bits.bit()) {
    width -= (bits.golomb() + bits.golomb()) * (chroma === 1 || chroma === 2 ? 2 : 1);
    height -= (bits.golomb() + bits.golomb()) * (chroma === 1 ? 2 : 1);
  }
  return { width, height };
}

const hexadecimal = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");

/** Returns the first parameter set of a type in an HEVCDecoderConfigurationRecord (ISO/IEC 14496-15 §8.3.3.1). */
function hevcSet(config, type) {
  for (let at = 23, arrays = config[22]; arrays > 0 && at + 3 <= config.length; arrays--) {
    const kind = config[at] & 63;
    let count = config[at + 1] << 8 | config[at + 2];
    for (at += 3; count > 0 && at + 2 <= config.length; count--) {
      const size = config[at] << 8 | config[at + 1];
      if (kind === type) return config.subarray(at + 2, at + 2 + size);
      at += 2 + size;
    }
  }
  return new Uint8Array(2);
}

/** Returns the codec string, `hvc1.…` (ISO/IEC 14496-15 annex E.3). */
function hevcName(config) {
  const flags = (config[2] << 24 | config[3] << 16 | config[4] << 8 | config[5]) >>> 0;
  let reversed = 0;
  for (let bit = 0; bit < 32; bit++) if (flags >>> bit & 1) reversed += 2 ** (31 - bit);
  const constraints = [...config.subarray(6, 12)];
  while (constraints.length && !constraints.at(-1)) constraints.pop();
  return ["hvc1", ["", "A", "B", "C"][config[1] >> 6] + (config[1] & 31), reversed.toString(16),
    (config[1] & 32 ? "H" : "L") + config[12], ...constraints.map(byte => byte.toString(16).toUpperCase())].join(".");
}

const RATES = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];

/**
 * @typedef {object} Format A parsed codec configuration.
 * @property {"avc" | "hevc" | "aac"} codec
 * @property {string} type Media type for `MediaSource`.
 * @property {Uint8Array} config
 * @property {number} scale Ticks per second: 1000 for video, the sampling rate for audio.
 * @property {number} width @property {number} height @property {number} channels @property {number} lengthSize
 */

/** Reads a codec configuration. @param {string} codec @param {Uint8Array} config @returns {Format} @throws {Error} The configuration is too short. */
export function readFormat(codec, config) {
  const format = { codec, config, type: "", scale: 1000, width: 0, height: 0, channels: 0, lengthSize: 4 };
  if (config.length < { avc: 9, hevc: 23, aac: 2 }[codec]) throw new Error("The stream has a broken codec configuration");
  if (codec === "avc") {
    format.type = `video/mp4; codecs="avc1.${hexadecimal(config.subarray(1, 4))}"`;
    Object.assign(format, avcSize(config.subarray(8, 8 + (config[6] << 8 | config[7]))), { lengthSize: (config[4] & 3) + 1 });
  } else if (codec === "hevc") {
    format.type = `video/mp4; codecs="${hevcName(config)}"`;
    Object.assign(format, hevcSize(hevcSet(config, 33)), { lengthSize: (config[21] & 3) + 1 });
  } else {
    const kind = config[0] >> 3;
    format.type = `audio/mp4; codecs="mp4a.40.${kind || 2}"`;
    format.scale = RATES[(config[0] & 7) << 1 | config[1] >> 7] || 44100;
    format.channels = config[1] >> 3 & 15;
  }
  return format;
}

const UUID = "5b1c6c0e7d0f4a529e0b3f6c2a9d4e71";

/**
 * Returns the texts that a picture carries for players in SEI messages (H.264 §7.3.2.3) before its first slice, at most 16.
 * @param {Uint8Array} picture NAL units, each preceded by its length. @param {Format} format @returns {string[]}
 */
export function textsIn(picture, format) {
  const texts = [], isHEVC = format.codec === "hevc";
  for (let at = 0; at + format.lengthSize < picture.length && texts.length < 16;) {
    let size = 0;
    for (let index = 0; index < format.lengthSize; index++) size = size * 256 + picture[at++];
    const type = isHEVC ? picture[at] >> 1 & 63 : picture[at] & 31;
    if (isHEVC ? type < 32 : type >= 1 && type <= 5) break;
    if (type === (isHEVC ? 39 : 6)) texts.push(...messages(picture.subarray(at + (isHEVC ? 2 : 1), at + size)));
    at += size;
  }
  return texts;
}

function messages(unit) {
  const bytes = withoutEmulation(unit), texts = [];
  for (let at = 0; at + 2 < bytes.length;) {
    const coded = () => { let value = 0; while (bytes[at] === 255) { value += 255; at++; } return value + (bytes[at++] || 0); };
    const type = coded(), size = coded(), payload = bytes.subarray(at, at + size);
    at += size;
    const isOurs = type === 5 && hexadecimal(payload.subarray(0, 16)) === UUID;
    if (isOurs || type >= 100) texts.push(new TextDecoder().decode(isOurs ? payload.subarray(16) : payload));
  }
  return texts;
}

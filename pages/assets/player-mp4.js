// Writes fragmented MP4 (ISO/IEC 14496-12) for source buffers, with a single track, number 1.
import { joined } from "./player-flv.js";

const text = word => [...word].map(letter => letter.charCodeAt(0));
const u16 = value => [value >> 8 & 255, value & 255];
const u32 = value => [value >>> 24, value >>> 16 & 255, value >>> 8 & 255, value & 255];
const zeros = count => new Uint8Array(count);
const MATRIX = [...u32(0x10000), ...zeros(12), ...u32(0x10000), ...zeros(12), ...u32(0x40000000)];

function box(name, ...parts) {
  const body = joined(parts);
  return joined([u32(body.length + 8), text(name), body]);
}

function sampleEntry({ codec, config, width, height, channels, scale }) {
  const head = [...zeros(6), ...u16(1)];
  if (codec !== "aac") {
    return box(codec === "avc" ? "avc1" : "hvc1", head, zeros(16), u16(width), u16(height), u32(0x480000), u32(0x480000), u32(0),
      u16(1), zeros(32), u16(24), u16(0xFFFF), box(codec === "avc" ? "avcC" : "hvcC", config));
  }
  const size = config.length;
  return box("mp4a", head, zeros(8), u16(channels || 2), u16(16), u32(0), u16(scale > 65535 ? 0 : scale), u16(0),
    // ES_Descriptor (ISO/IEC 14496-1 §7.2.6.5) with the AudioSpecificConfig.
    box("esds", u32(0), [3, 23 + size], u16(1), [0, 4, 15 + size, 0x40, 0x15, 0, 0, 0], zeros(8), [5, size], config, [6, 1, 2]));
}

/** Returns an initialization segment. @param {import("./player-codecs.js").Format} format @returns {Uint8Array} */
export function initialization(format) {
  const isVideo = format.codec !== "aac";
  return joined([
    box("ftyp", text("isom"), u32(0), text("isomiso5")),
    box("moov",
      box("mvhd", zeros(12), u32(1000), u32(0), u32(0x10000), u16(0x100), zeros(10), MATRIX, zeros(24), u32(2)),
      box("trak",
        box("tkhd", u32(7), zeros(8), u32(1), zeros(16), u16(0), u16(0), u16(isVideo ? 0 : 0x100), u16(0), MATRIX,
          u32(format.width * 0x10000), u32(format.height * 0x10000)),
        box("mdia",
          box("mdhd", zeros(12), u32(format.scale), u32(0), u16(0x55C4), u16(0)),
          box("hdlr", zeros(8), text(isVideo ? "vide" : "soun"), zeros(13)),
          box("minf",
            isVideo ? box("vmhd", u32(1), zeros(8)) : box("smhd", zeros(8)),
            box("dinf", box("dref", u32(0), u32(1), box("url ", u32(1)))),
            box("stbl", box("stsd", u32(0), u32(1), sampleEntry(format)), box("stts", zeros(8)), box("stsc", zeros(8)),
              box("stsz", zeros(12)), box("stco", zeros(8)))))),
      box("mvex", box("trex", u32(0), u32(1), u32(1), zeros(12)))),
  ]);
}

/**
 * Returns a fragment.
 * @param {number} sequence @param {number} start Decoding time of the first frame in ticks.
 * @param {{length: number, offset: number, isKey: boolean, data: Uint8Array}[]} frames Lengths and offsets in ticks.
 * @returns {Uint8Array}
 */
export function fragment(sequence, start, frames) {
  const entries = frames.flatMap(({ length, offset, isKey, data }) =>
    [...u32(length), ...u32(data.length), ...u32(isKey ? 0x02000000 : 0x01010000), ...u32(offset | 0)]);
  const moof = position => box("moof", box("mfhd", u32(0), u32(sequence)),
    // Version 1 of both boxes has 64-bit decoding times and signed offsets.
    box("traf", box("tfhd", u32(0x020000), u32(1)), box("tfdt", u32(0x01000000), u32(Math.floor(start / 2 ** 32)), u32(start >>> 0)),
      box("trun", u32(0x01000F01), u32(frames.length), u32(position), entries)));
  const size = frames.reduce((sum, frame) => sum + frame.data.length, 0);
  return joined([moof(moof(0).length + 8), u32(size + 8), text("mdat"), ...frames.map(frame => frame.data)]);
}

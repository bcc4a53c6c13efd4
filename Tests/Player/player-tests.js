// Tests of the player's pure parts. A browser runs them (BrowserPlayerTests), and so does
// `node --experimental-default-type=module Tests/Player/player-tests.js`.
import { readFormat, textsIn } from "../../pages/assets/player-codecs.js";
import { FLVReader, joined, layoutIn, readUnit } from "../../pages/assets/player-flv.js";
import { backOff, LIVE, Refusal, RebuildError, steer, unplayable, UnplayableError, verdict } from "../../pages/assets/player-policy.js";
import { Clock, TimelineError, Track } from "../../pages/assets/player-track.js";
import { isChoice, listed, nameOf, place } from "../../pages/assets/watch-names.js";
import { bytes, check, equal, randomNumbers, read, throws } from "./checks.js";

/** Configurations as x264, x265 and fdk write them: 642x358, and AAC at 48 kHz, at 44.1 kHz. */
const AVC = bytes("0164001effe1001b6764001eacd940a42fe226c044000003000400000300c83c58b65801000668ebe3cb22c0fdf8f800");
const HEVC = bytes("0101600000009000000000003ff000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003003f959809a1"
  + "0001002c42010101600000030090000003000003003fa005120169c9596566924caf016808000003000800000300c840a2000100074401c172b46240");
const AAC = bytes("1190"), OTHER_AAC = bytes("1210");
/** The same with another picture parameter set. */
const OTHER_AVC = AVC.map((byte, index) => index === AVC.length - 8 ? byte ^ 1 : byte);

const tag = (kind, time, body) => joined([[kind, body.length >> 16, body.length >> 8 & 255, body.length & 255, time >> 16 & 255, time >> 8 & 255,
  time & 255, time >>> 24, 0, 0, 0], body, [0, 0, 0, body.length + 11]]);
const HEAD = bytes("464c5601050000000900000000");

const tests = {
  "a stream is cut into the same tags wherever the network cuts it"(random) {
    const sent = Array.from({ length: 40 }, (_, index) => [index % 3 ? 9 : 8, index * 0x06000001 >>> 0, Uint8Array.from({ length: random() * 600 }, () => random() * 256)]);
    const stream = joined([HEAD, ...sent.map(one => tag(...one))]), got = [];
    const reader = new FLVReader((kind, time, body) => got.push([kind, time, body.slice()]));
    for (let at = 0, next; at < stream.length; at = next) reader.push(stream.slice(at, next = at + 1 + Math.floor(random() * 300)));
    equal(got.map(one => one.slice(0, 2)), sent.map(one => one.slice(0, 2)), "kinds and times");
    equal(got.map(one => [...one[2]]), sent.map(one => [...one[2]]), "bodies");
  },
  "an answer that is no FLV is said to be none"() {
    throws(() => new FLVReader(() => {}).push(new TextEncoder().encode("<!doctype html>")), Error, "HTML");
  },
  "tags of all codecs are read, with signed offsets"() {
    const at = body => { const unit = readUnit(9, bytes(body)); return unit && [unit.codec, unit.isConfig, unit.isKey, unit.offset, unit.data.length]; };
    equal(at("1700000000aabb"), ["avc", true, true, 0, 2], "header");
    equal(at("2701ffffd8aa"), ["avc", false, false, -40, 1], "negative offset");
    equal(at("1c01000028aa"), ["hevc", false, true, 40, 1], "H.265 by its old number");
    equal(at("9068766331aabb"), ["hevc", true, true, 0, 2], "Enhanced RTMP, header");
    equal(at("a168766331000028aa"), ["hevc", false, false, 40, 1], "Enhanced RTMP, with an offset");
    equal(at("a368766331aabbcc"), ["hevc", false, false, 0, 3], "Enhanced RTMP, without");
    equal(at("9161763031aabb"), ["av01", false, true, 0, 2], "a codec that nothing plays");
    equal(at("17020000000000"), null, "end of sequence");
    equal(readUnit(8, bytes("af01aabb")).data.length, 2, "sound");
    equal(readUnit(8, bytes("2f01aabb")).codec, "audio codec 2", "MP3");
    equal(readUnit(18, bytes("0200")), null, "metadata");
  },
  "a layout is read from its script tag"() {
    const text = '{"regions":[],"name":"Zoë"}', data = new TextEncoder().encode(text), name = new TextEncoder().encode("onLayout");
    const script = (...head) => joined([head, name, [12, 0, 0, 0, data.length], data]);
    equal(layoutIn(script(2, 0, 8)), text, "text");
    equal(layoutIn(bytes("02000a6f6e4d65746144617461080000000000")), "", "metadata");
    equal([layoutIn(bytes("")), layoutIn(bytes("0200086f6e4c61796f7574"))], ["", ""], "cut off");
  },
  "configurations name codec and size"() {
    const read = (codec, config) => { const { type, width, height, scale, channels } = readFormat(codec, config); return [type, width, height, scale, channels]; };
    equal(read("avc", AVC), ['video/mp4; codecs="avc1.64001e"', 642, 358, 1000, 0], "H.264");
    equal(read("hevc", HEVC), ['video/mp4; codecs="hvc1.1.6.L63.90"', 642, 358, 1000, 0], "H.265");
    equal(read("aac", AAC), ['audio/mp4; codecs="mp4a.40.2"', 0, 0, 48000, 2], "AAC");
    for (const codec of ["avc", "hevc", "aac"]) throws(() => readFormat(codec, bytes("01")), Error, codec);
  },
  "anything that comes is read to its end"(random) {
    for (let round = 0; round < 3000; round++) {
      const junk = Uint8Array.from({ length: random() * 60 }, () => random() * 256);
      readUnit(random() < 0.5 ? 8 : 9, junk);
      layoutIn(junk);
      for (const codec of ["avc", "hevc", "aac"]) { try { readFormat(codec, junk); } catch { /* too short */ } }
      const config = AVC.slice();
      config[8 + Math.floor(random() * (config.length - 8))] = random() * 256;
      textsIn(junk, readFormat("avc", config));
    }
  },
  "texts come out from between pictures"() {
    const format = readFormat("avc", AVC), text = '{"ts":1}', uuid = bytes("5b1c6c0e7d0f4a529e0b3f6c2a9d4e71");
    const unit = (...parts) => { const data = joined(parts); return joined([[0, 0, 0, data.length], data]); };
    const ours = unit([6, 5, 16 + text.length], uuid, new TextEncoder().encode(text), [0x80]);
    const slice = unit([0x65, 1, 2, 3]);
    equal(textsIn(joined([ours, slice]), format), [text], "after our UUID");
    equal(textsIn(joined([slice, ours]), format), [], "behind a slice there is none");
    equal(textsIn(joined([unit([6, 5, 20], new Uint8Array(20), [0x80]), slice]), format), [], "of somebody else");
    equal(textsIn(joined([unit([6, 100, 5, 97, 0, 0, 3, 1, 98, 0x80]), slice]), format), ["a\0\0\u0001b"], "emulation prevention");
    equal(textsIn(joined([unit([6, 0xFF, 1, 2, 97, 98, 0x80])]), format), ["ab"], "a type of more than one byte");
  },
  "pictures follow each other without a hole when parameter sets change"() {
    const track = new Track("video");
    track.configure("avc", AVC);
    track.take(1000, 0, true, bytes("01"));
    track.take(1050, 0, false, bytes("02"));
    track.start(1000);
    track.configure("avc", AVC.slice());
    const before = track.drain().map(read);
    equal(before.length, 2, "an initialization segment and a fragment");
    track.configure("avc", OTHER_AVC);
    track.take(1100, 0, false, bytes("03"));
    equal(track.drain().map(read).map(one => Boolean(one.type)), [false], "until the keyframe the old set counts");
    // The new stream reorders: its first picture is shown 100 ms after it is decoded.
    track.take(1150, 100, true, bytes("04"));
    track.take(1200, 100, false, bytes("05"));
    const [rest, change, next] = track.drain().map(read);
    equal(rest.frames, [{ time: 100, length: 150, shown: 100, isKey: false }], "the last picture stays until the next is shown");
    check(change.type, "then the new set");
    equal(next.frames[0], { time: 150, length: 50, shown: 250, isKey: true }, "then the keyframe");
  },
  "sound lies on an exact grid"(random) {
    const track = new Track("audio"), times = [];
    track.configure("aac", AAC);
    for (let index = 0; index < 200; index++) track.take(Math.round(index * 1024 / 48 + (random() - 0.5) * 40), 0, true, bytes("aa"));
    track.start(-100);
    for (const { frames = [] } of track.drain().map(read)) times.push(...frames);
    equal(times.length, 200, "frames");
    for (let index = 1; index < 200; index++) equal(times[index].time - times[index - 1].time, 1024, `frame ${index}`);
    track.take(200 * 1024 / 48 + 80, 0, true, bytes("aa"));
    const moved = read(track.drain()[0]).frames[0].time - times.at(-1).time;
    check(Math.abs(moved - 1024 - 80 * 48) < 25 * 48, `it is anchored anew: ${moved}`);
    track.configure("aac", OTHER_AAC);
    track.take(4400, 0, true, bytes("aa"));
    const [change, next] = track.drain().map(read);
    check(change.type && next.frames[0].time === Math.round(4400 * 44.1) + 4410, "another rate, another grid");
  },
  "offsets are signed, times have 64 bits, and a long gap stays one"() {
    const track = new Track("video"), far = 2 ** 32 + 5000;
    track.configure("avc", AVC);
    track.take(far, -40, true, bytes("01"));
    track.take(far + 40, 0, false, bytes("02"));
    track.take(far + 80, 0, false, bytes("03"));
    track.take(far + 9000, 0, true, bytes("04"));
    track.take(far + 9040, 0, false, bytes("05"));
    track.start(0);
    const [, one, two] = track.drain().map(read);
    equal([one.frames[0].time, one.frames[0].shown], [far, far - 40], "time");
    equal([one.frames.at(-1).length, two.frames[0].time], [40, far + 9000], "a hole");
  },
  "any program is written frame by frame, in order"(random) {
    for (let round = 0; round < 60; round++) {
      const track = new Track("video");
      let time = Math.floor(random() * 5000), taken = 0, written = 0, end = -Infinity, last = AVC;
      track.configure("avc", AVC);
      track.start(time);
      for (let index = 0; index < 80; index++) {
        if (random() < 0.1) track.configure("avc", last = last === AVC ? OTHER_AVC : AVC);
        track.take(time, Math.floor(random() * 120), index === 0 || random() < 0.2, bytes("aa"));
        taken++;
        time += random() < 0.03 ? 4000 : 1 + Math.floor(random() * 80);
        if (random() < 0.3) continue;
        for (const { frames = [] } of track.drain().map(read)) {
          for (const frame of frames) { check(frame.length > 0 && frame.time >= end - 130, `${frame.time} after ${end}`); end = frame.time + frame.length; written++; }
        }
      }
      for (const { frames = [] } of track.drain().map(read)) written += frames.length;
      equal(written, taken - 1, "all but the last, whose length nobody knows");
    }
  },
  "time goes on over the end of 32 bits, and not back"() {
    const clock = new Clock();
    equal([0xFFFFFFF0, 0xFFFFFFFF, 5, 2].map(time => clock.unwrap(time)), [0xFFFFFFF0, 0xFFFFFFFF, 2 ** 32 + 5, 2 ** 32 + 2], "times");
    throws(() => clock.unwrap(0xFFFF0000), TimelineError, "a new program");
  },
  "it stays near the newest picture"() {
    const at = (now, rate = 1, ranges = [[0, 20]]) => { const { seek, rate: next } = steer({ ranges, now, rate }); return [seek, next]; };
    equal(at(18.8), [null, 1], "at the target");
    equal(at(16.5), [null, 1.15], "more than 3 s");
    equal([at(18.3, 1), at(18.3, 1.15)], [[null, 1], [null, 1.15]], "faster until the target");
    equal([at(18.1), at(18.3, 1.05), at(18.7, 1.05)], [[null, 1.05], [null, 1.05], [null, 1]], "a little more than at the beginning");
    equal(at(18.7, 1.15), [null, 1], "there");
    equal(at(11), [20 - LIVE.target, 1], "more than 8 s");
    equal([at(19.8), at(19.5, 0.95), at(19.5, 1)], [[null, 0.95], [null, 0.95], [null, 1]], "too near to go on for long");
    equal(at(5.05, 1, [[0, 5], [5.5, 7]]), [5.51, 1], "over a hole");
    equal(at(4.9, 1, [[0, 5], [5.5, 6]]), [null, 1], "not before it");
    equal(at(0, 1, []), [null, 1], "nothing yet");
  },
  "a viewer who has gone back stays there"() {
    const at = (now, rate = 1, ranges = [[0, 40]]) => {
      const { seek, rate: next } = steer({ ranges, now, rate, isBack: true });
      return [seek, next];
    };
    equal([at(33.8), at(28.8, 1.15), at(20)], [[null, 1], [null, 1], [null, 1]], "as far behind");
    equal(at(5.05, 1, [[0, 5], [5.5, 20]]), [5.51, 1], "over a hole");
    equal(at(11.5), [40 - LIVE.target, 1], "what is no longer kept");
  },
  "attempts become rare, and viewers do not come all at once"() {
    equal([0, 1, 2, 3, 4, 50].map(attempt => backOff(attempt, 0.5)), [0.5, 1, 2, 4, 8, 8], "seconds");
    check(backOff(3, 0) < backOff(3, 0.9), "spread");
  },
  "each end has its sentence"() {
    const past = { attempt: 0, random: 0.5, hasPlayed: false };
    const at = (error, more = {}) => { const { state, message, delay } = verdict(error, { ...past, ...more }); return [state, message, delay]; };
    const refused = detail => new Refusal(403, { title: "The URL does not grant access to this program", detail });
    equal(at(refused("the URL expired 20 s ago")), ["failed", "This link has expired. Ask for a new one.", null], "expired");
    equal(at(refused("the URL has no auth_key"))[1], "This link is not valid for this program. Ask for a new one.", "unsigned");
    const none = new Refusal(404, { type: "urn:mixorchestrator:problem:not-on-air" });
    equal([at(none)[0], at(none, { hasPlayed: true })[0]], ["waiting", "ended"], "nothing on air");
    equal(at(none, { hasPlayed: true })[1], "The program has ended. If it resumes, it plays here automatically.", "ended");
    for (const [hasPlayed, least] of [[true, 3], [false, 2]]) {
      for (const attempt of [0, 1]) {
        equal([0, 1].map(random => at(none, { attempt, random, hasPlayed })[2]), [least, least + 1], "not all at once");
      }
    }
    const full = new Refusal(503, { type: "urn:mixorchestrator:problem:viewers-full" }, 10);
    equal(at(full), ["reconnecting", "Too many people are watching right now. Retrying in 12 s…", 11.25], "full");
    equal([at(full, { random: 0 })[2], at(full, { random: 1 })[2]], [10, 12.5], "never sooner, and not all at once");
    const busy = new Refusal(429, {}, 1);
    equal([0, 1].map(random => at(busy, { attempt: 9, random })[2]), [6, 10], "more rarely each time");
    equal(at(null)[2], 0.2, "the end of a stream may be a restart");
    equal([at(new RebuildError("x"))[2], at(new RebuildError("x"), { attempt: 2 })[2]], [0, 2], "a decoder that fails again and again");
    equal(at(new TypeError("Failed to fetch")), ["reconnecting", "Connection lost. Reconnecting…", 0.5], "no network");
    equal(at(new UnplayableError(unplayable("hevc")))[0], "failed", "H.265");
    const unsuitable = new Refusal(406, { title: "The offer contains no supported media", detail: "The offer has no Opus audio" });
    equal(at(unsuitable)[1], "The offer contains no supported media: The offer has no Opus audio.", "one full stop");
  },
  "names lie where people are"() {
    const box = { width: 1000, height: 500 };
    equal(place({ x: 0, y: 640, w: 720, h: 640 }, { w: 720, h: 1280 }, box), { left: 359.375, top: 250, width: 281.25, height: 250 }, "below");
    equal(place({ x: 0, y: 0, w: 0, h: 0 }, { w: 720, h: 1280 }, box), null, "only heard");
    equal(place({ x: 0, y: 0, w: 0, h: 0 }, { w: 0, h: 0 }, box), { left: 0, top: 0, ...box }, "a bypass of unknown size");
    equal([[], ["a"], ["a", "b"], ["a", "b", "c"]].map(listed), ["", "a", "a and b", "a, b and c"], "listed");
  },
  "participants are watched alone where the service plays them"() {
    const camera = { uid: "u1", stream: "camera" };
    equal([true, false].map(plays => isChoice(camera, plays)), [true, false], "by the service's settings");
    const others = [{ ...camera, alone: false }, { ...camera, room: "west" }, { ...camera, stream: "screen" }];
    equal(others.map(region => isChoice(region, true)), [false, false, true], "by the stream");
  },
  "people are called by their display names"() {
    const called = [{ uid: "u1", name: "Zoë <b>" }, { uid: "u1" }, { uid: "u1", name: " " }, { uid: "u1", name: 7 }, { uid: 7 }];
    equal(called.map(nameOf), ["Zoë <b>", "u1", "u1", "u1", "7"], "otherwise by their identifiers");
    equal(nameOf({ uid: "u1", name: "ü".repeat(48) }), "ü".repeat(48), "96 bytes");
    equal(nameOf({ uid: "u1", name: `a${"ü".repeat(48)}` }), `a${"ü".repeat(47)}…`, "no half of a letter");
    equal(nameOf({ uid: "x".repeat(1000) }), `${"x".repeat(96)}…`, "an identifier from elsewhere");
    equal(nameOf({ uid: "u1", name: "🎈".repeat(25) }), `${"🎈".repeat(24)}…`, "pairs of surrogates");
  },
};

/** Runs all tests. @returns {{passed: number, failed: string[], seed: number}} */
export function run(seed = Date.now() >>> 0) {
  const failed = [];
  for (const [name, test] of Object.entries(tests)) {
    try { test(randomNumbers(seed)); } catch (error) { failed.push(`${name}: ${error.message}`); }
  }
  return { passed: Object.keys(tests).length - failed.length, failed, seed };
}

if (globalThis.process?.argv) {
  const result = run();
  console.log(result);
  process.exitCode = result.failed.length ? 1 : 0;
}

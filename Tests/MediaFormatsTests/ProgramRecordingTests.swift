import EncodedMedia
import TestSupport
import Testing

@testable import MediaFormats

@Suite struct ProgramRecordingTests {
    @Test func everyFrameIsInOneFragmentOfAboutASecond() throws {
        var script = RecordingScript(bFrames: 2)
        script.program(seconds: 10)
        let parts = script.record()
        #expect(parts.count == 1)
        let part = try #require(parts.first)
        #expect(part.reason == .stopped)
        let video = part.times(of: MP4Movie.videoTrack)
        let expected = script.frames.filter { $0.track == .video }
        #expect(video.map(\.pts) == expected.map { ($0.pts - script.start).units(rate: 90_000) })
        #expect(video.map(\.dts) == expected.map { ($0.dts - script.start).units(rate: 90_000) })
        #expect(video.map(\.isSync) == expected.map(\.isIDR))
        // Sound is on the sample grid, without a step, even though the stream's times are rounded to milliseconds.
        let audio = part.times(of: MP4Movie.audioTrack).map(\.dts)
        #expect(audio.count == script.frames.count { $0.track == .audio })
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $1 - $0 == 1024 })
        let lengths = part.fragments.compactMap { fragment in
            fragment.runs.first { $0.track == MP4Movie.videoTrack }.map { run in
                run.samples.reduce(0) { $0 + Int($1.duration) }
            }
        }
        #expect(lengths.allSatisfy { $0 <= 90_000 + 3_600 }, "\(lengths)")
        #expect(abs(part.duration - 10) < 0.1)
    }

    @Test func itBeginsWithAKeyframeAndLeavesOutWhatWasBefore() throws {
        var script = RecordingScript()
        script.program(seconds: 3)
        let cut = try #require(
            script.items.firstIndex { if case .frame(let frame) = $0 { frame.track == .video } else { false } })
        var items = Array(script.items[..<cut]) + Array(script.items[(cut + 5)...])
        items.removeAll {
            if case .frame(let frame) = $0 { frame.isIDR && frame.dts < script.start + .seconds(1) } else { false }
        }
        let part = try #require(RecordingScript.record(items).first)
        let video = part.times(of: MP4Movie.videoTrack)
        #expect(video.first?.dts == 0 && video.first?.isSync == true)
        #expect(part.begin == script.start + .seconds(1))
        #expect(part.times(of: MP4Movie.audioTrack).allSatisfy { $0.dts >= 0 })
    }

    @Test func otherPicturesStayInTheSameFile() throws {
        var script = RecordingScript()
        script.program(seconds: 2)
        script.configure(video: RecordingScript.otherVideo)
        script.program(seconds: 2)
        let parts = script.record()
        #expect(parts.count == 1)
        // Parameter sets are in band at every IDR, the second ones from the second configuration.
        let data = try #require(parts.first).payloads(of: MP4Movie.videoTrack)
        let syncs = zip(try #require(parts.first).times(of: MP4Movie.videoTrack), data).filter(\.0.isSync).map(\.1)
        #expect(syncs.count == 4)
        let types = syncs.map { NALUnits($0).map { $0.first ?? 0 } }
        #expect(types.allSatisfy { $0.prefix(3).map { $0 & 0x1F } == [7, 8, 5] })
        let sets = [syncs[0], syncs[3]].map { NALUnits($0).map(Array.init)[0] }
        #expect(sets[0] != sets[1])
    }

    @Test func otherSoundBeginsANewFileWithTheKeyframe() throws {
        for isLate in [false, true] {
            var script = RecordingScript()
            script.program(seconds: 2)
            if !isLate { script.configure(audio: RecordingScript.mono) }
            // One or two pictures of the next group come first, as at a splice.
            script.program(seconds: 2, configuringAfter: isLate ? RecordingScript.mono : nil)
            let parts = script.record()
            #expect(parts.count == 2 && parts.first?.reason == .tracksChanged)
            let second = try #require(parts.last)
            #expect(second.movie.audio == RecordingScript.mono)
            #expect(second.times(of: MP4Movie.videoTrack).first?.isSync == true)
            let pictures = parts.reduce(0) { $0 + $1.times(of: MP4Movie.videoTrack).count }
            #expect(pictures == script.frames.count { $0.track == .video }, "no picture is lost")
            let sounds = parts.reduce(0) { $0 + $1.times(of: MP4Movie.audioTrack).count }
            #expect(sounds >= script.frames.count { $0.track == .audio } - 1)
        }
    }

    @Test func aHoleStaysAHole() throws {
        var script = RecordingScript()
        script.program(seconds: 2)
        script.skip(seconds: 5)
        script.program(seconds: 2)
        let part = try #require(script.record().first)
        for track in [MP4Movie.videoTrack, MP4Movie.audioTrack] {
            let scale = Double(track == MP4Movie.videoTrack ? 90_000 : 48_000)
            let times = part.times(of: track).map { Double($0.dts) / scale }
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect(gaps.count { $0 > 1 } == 1 && abs((gaps.max() ?? 0) - 5) < 0.1)
        }
        #expect(abs(part.duration - 9) < 0.1)
    }

    @Test func soundAloneIsRecorded() throws {
        var script = RecordingScript(hasVideo: false)
        script.program(seconds: 5)
        let part = try #require(script.record().first)
        #expect(part.movie.video == nil && part.fragments.count >= 4)
        #expect(part.times(of: MP4Movie.audioTrack).count == script.frames.count)
    }

    @Test func picturesThatComeLaterBeginANewFile() throws {
        var script = RecordingScript(hasVideo: false)
        script.program(seconds: 5)
        script.configure(video: RecordingScript.video)
        script.hasVideo = true
        script.program(seconds: 3)
        let parts = script.record()
        #expect(parts.map { $0.movie.video == nil } == [true, false])
    }

    /// The sound of a participant is recorded even before the camera is on, which comes on after some seconds: with parts,
    /// a second after a cut.
    @Test(
        arguments: [
            (6, nil, [.tracksChanged, .stopped]), (11, 10, [.partSeconds, .tracksChanged, .stopped]),
        ] as [(Int, Double?, [ProgramRecording.EndReason?])])
    func soundIsRecordedBeforeTheCameraIsOn(
        _ seconds: Int, _ partSeconds: Double?, _ reasons: [ProgramRecording.EndReason?]
    ) throws {
        var script = RecordingScript(hasVideo: false)
        script.configure(video: RecordingScript.video)
        script.program(seconds: seconds)
        script.hasVideo = true
        script.program(seconds: 3)
        let parts = script.record(limits: .init(partSeconds: partSeconds))
        #expect(parts.map(\.reason) == reasons)
        #expect(parts.map { $0.movie.video != nil } == reasons.map { $0 == .stopped })
        let sounds = parts.reduce(0) { $0 + $1.times(of: MP4Movie.audioTrack).count }
        #expect(sounds >= script.frames.count { $0.track == .audio } - 2)
    }

    @Test func partsAndLimits() throws {
        var script = RecordingScript()
        script.program(seconds: 12)
        let parts = script.record(limits: .init(partSeconds: 4))
        #expect(parts.map(\.reason) == [.partSeconds, .partSeconds, .stopped])
        #expect(parts.allSatisfy { abs($0.duration - 4) < 0.1 })
        #expect(parts.allSatisfy { $0.times(of: MP4Movie.videoTrack).first?.isSync == true })
        let short = script.record(limits: .init(seconds: 5))
        #expect(short.map(\.reason) == [.maxSeconds] && abs(short[0].duration - 5) < 1.1)
        let small = script.record(limits: .init(bytes: 20_000))
        #expect(small.map(\.reason) == [.maxBytes])
    }

    @Test(arguments: [false, true]) func partsOfSoundAloneHaveTheirLength(isVideoAnnounced: Bool) throws {
        var script = RecordingScript(hasVideo: false)
        if isVideoAnnounced { script.configure(video: RecordingScript.video) }
        script.program(seconds: 30)
        let parts = script.record(limits: .init(partSeconds: 10))
        #expect(parts.map(\.reason) == [.partSeconds, .partSeconds, .stopped])
        #expect(parts.allSatisfy { abs($0.duration - 10) < 0.1 })
        let sounds = parts.reduce(0) { $0 + $1.times(of: MP4Movie.audioTrack).count }
        #expect(sounds == script.frames.count, "nothing is lost at a cut")
    }

    @Test func oneThatGoesOnNeverStepsBack() throws {
        var script = RecordingScript(bFrames: 2)
        script.program(seconds: 4)
        let first = try #require(script.record().first)
        // According to the other relay's clock no time has passed at all.
        for origin in [script.start + .seconds(1), script.start - .seconds(10)] {
            let recording = ProgramRecording(
                continuation: .init(movie: first.movie, origin: origin, duration: first.duration))
            let next = try #require(RecordingScript.record(script.items, recording).first)
            #expect(next.begin == nil, "no new file")
            let video = next.times(of: MP4Movie.videoTrack).map(\.dts)
            #expect(Double(video.first ?? 0) / 90_000 >= first.duration - 0.001)
            #expect(zip(video, video.dropFirst()).allSatisfy { $0 < $1 })
            let audio = next.times(of: MP4Movie.audioTrack).map(\.dts)
            #expect(Double(audio.first ?? 0) / 48_000 >= first.duration - 0.03)
        }
    }

    @Test func aPauseCanBeLeftOut() throws {
        var script = RecordingScript(bFrames: 2)
        script.program(seconds: 4)
        let first = try #require(script.record().first)
        // The other program's time is hours later, or earlier.
        for origin in [script.start - .seconds(10_000), script.start + .seconds(500)] {
            let recording = ProgramRecording(
                continuation: .init(
                    movie: first.movie, origin: origin, duration: first.duration, leavesOutGap: true))
            let next = try #require(RecordingScript.record(script.items, recording).first)
            let video = next.times(of: MP4Movie.videoTrack).map(\.dts)
            #expect(next.begin == nil && abs(Double(video.first ?? 0) / 90_000 - first.duration) < 0.001)
            let audio = next.times(of: MP4Movie.audioTrack).map(\.dts)
            #expect(abs(Double(audio.first ?? 0) / 48_000 - first.duration) < 0.03)
        }
    }

    @Test func aKeyframeIsFoundInTheFile() throws {
        var script = RecordingScript(bFrames: 2)
        script.program(seconds: 5)
        let part = try #require(script.record().first)
        let file = part.movie.header + part.encoded.flatMap(\.self)
        func find(_ seconds: Double, in file: [UInt8]) -> RecordedKeyframe? {
            RecordedKeyframe.find(at: seconds) { offset, count in
                guard offset >= 0, count >= 0, offset <= file.count - count else { return nil }
                return Array(file[Int(offset)..<Int(offset) + count])
            }
        }
        let payloads = part.payloads(of: MP4Movie.videoTrack)
        let times = part.times(of: MP4Movie.videoTrack)
        for (seconds, index) in [(0.0, 0), (0.5, 25), (1, 25), (3, 75), (100, 100), (-1, 0), (.infinity, 100)] {
            let found = try #require(find(seconds, in: file))
            #expect(times[index].isSync && found.payload == payloads[index], "\(seconds)")
            #expect(found.configuration.videoCodec == .h264)
        }
        // The picture as a stream for a decoder.
        var reader = FLVReader()
        let items = try reader.push(try #require(find(3, in: file)).flv)
        let frames = items.compactMap { if case .frame(let frame) = $0 { frame } else { nil } }
        #expect(frames.map(\.payload) == [payloads[75]] && frames.first?.isIDR == true)
        // A recording without pictures, and files that are truncated anywhere or contain other bytes.
        let sound = RecordingScript.record(
            {
                var script = RecordingScript(hasVideo: false)
                script.program(seconds: 3)
                return script
            }().items)
        #expect(find(0, in: sound[0].movie.header + sound[0].encoded.flatMap(\.self)) == nil)
        for length in stride(from: 0, to: file.count, by: 97) { _ = find(2, in: Array(file[..<length])) }
        var random = SeededGenerator(announcedFor: "a damaged recording")
        for _ in 0..<300 {
            var damaged = file
            for _ in 0..<4 {
                damaged[.random(in: 0..<file.count, using: &random)] = .random(in: 0 ... .max, using: &random)
            }
            _ = find(2, in: damaged)
        }
    }

    @Test func theIndexSaysWhatTheFragmentsSay() throws {
        var script = RecordingScript(bFrames: 2)
        script.program(seconds: 5)
        script.skip(seconds: 2)
        script.program(seconds: 3)
        let part = try #require(script.record().first)
        let header = part.movie.header
        let movie = Array(header[MP4Index.movieOffset...])
        #expect(MP4Movie(box: movie)?.audio == part.movie.audio)
        #expect(MP4Movie(box: movie)?.video?.bytes.count == part.movie.video?.bytes.count)
        var index = try #require(MP4Index(movie: movie))
        var offset = Int64(header.count)
        for fragment in part.encoded {
            let isOurs = index.add(moof: fragment, at: offset)
            #expect(isOurs)
            offset += Int64(fragment.count)
        }
        #expect(abs(index.duration - part.duration) < 0.001)
        let file = header + part.encoded.flatMap(\.self)
        let tables = try #require(MovieTables(index.movie))
        for track in [MP4Movie.videoTrack, MP4Movie.audioTrack] {
            let samples = part.times(of: track)
            let base = samples.first?.dts ?? 0
            #expect(tables.times[track] == samples.map { $0.dts - base })
            let data = part.payloads(of: track)
            let read = try #require(tables.ranges[track]).map { Array(file[$0]) }
            #expect(read == data, "every sample is where the index says")
        }
        #expect(index.movie.count < MP4Index.estimatedSize(afterSeconds: part.duration))
    }
}

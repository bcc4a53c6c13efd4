import MediaSupport
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats

@Suite struct RenditionAssemblerTests {
    private let low = HLSProgram.video(9)

    @Test("a rendition is cut where the program is, with the same sound")
    func alignment() {
        var random = SeededGenerator(announcedFor: "aligned renditions")
        let program = HLSProgram(&random)
        let (segments, _) = program.segments()
        var assembler = RenditionAssembler()
        assembler.push(low)
        // Transcoded pictures come in display order, in ms, some time later.
        var coming = transcoded(program)[...]
        var made: [ProgramSegment?] = []
        for (number, segment) in segments.enumerated() {
            assembler.push(segment, number: number)
            while let next = coming.first, next.pts < segment.start + segment.duration - .milliseconds(300) {
                assembler.push(next)
                coming.removeFirst()
            }
            while let next = assembler.next() { made.append(next.made) }
        }
        for picture in coming { assembler.push(picture) }
        while let next = assembler.next(isEnding: true) {
            #expect(next.number == made.count)
            made.append(next.made)
        }
        #expect(made.count == segments.count)
        var shown = MediaTime.zero
        for (one, source) in zip(made, segments) {
            guard let one else {
                Issue.record("a gap at \(source.start)")
                continue
            }
            #expect(one.video == low && one.audio == source.audio && one.start == source.start)
            #expect(one.duration == source.duration && one.isDiscontinuity == source.isDiscontinuity)
            #expect(one.frames.filter { $0.track == .audio } == source.frames.filter { $0.track == .audio })
            // Within a group, a picture decoded in one segment may be displayed before the end of the previous one: it
            // belongs to that one.
            let last = max(pictures(source).max() ?? shown, shown)
            #expect(pictures(one).allSatisfy { $0 > shown && $0 <= last })
            shown = last
        }
        #expect(made.compactMap(\.self).flatMap(pictures) == segments.flatMap(pictures).sorted())
    }

    @Test("a transcoder that is too slow, or was away, leaves gaps and does not hold up the playlist")
    func gaps() {
        var random = SeededGenerator(announcedFor: "gaps")
        var program = HLSProgram(&random, stretches: 6)
        var segments = program.segments().segments
        // Programs whose first segments have no pictures, or only a few, are skipped.
        while segments.count < 5 || !segments[3].isIndependent
            || segments[1...3].contains(where: { pictures($0).count < 20 })
        {
            program = HLSProgram(&random, stretches: 6)
            segments = program.segments().segments
        }
        var assembler = RenditionAssembler()
        assembler.push(low)
        // The rendition crashed in the second segment and restarted with the first IDR of the fourth.
        let away = segments[1].start + .milliseconds(200)..<segments[3].start
        for picture in transcoded(program) where !away.contains(picture.pts) { assembler.push(picture) }
        var gaps: [Int] = []
        for (number, segment) in segments.enumerated() {
            assembler.push(segment, number: number)
            while let next = assembler.next() { if next.made == nil { gaps.append(next.number) } }
        }
        #expect(gaps.starts(with: [1, 2]) && gaps.count == 2)
        for number in 0..<10 { assembler.push(segments[0], number: number) }
        var waiting = 0
        while assembler.next() != nil { waiting += 1 }
        #expect(waiting >= 7, "without a transcoder at most three wait")
    }

    private func pictures(_ segment: ProgramSegment) -> [MediaTime] {
        segment.frames.filter { $0.track == .video }.map(\.pts)
    }

    private func transcoded(_ program: HLSProgram) -> [EncodedFrame] {
        let times = Set(program.video.filter(\.isIDR).map(\.pts))
        return program.video.map(\.pts).sorted().map { HLSProgram.picture(at: $0, isIDR: times.contains($0), size: 5) }
    }
}

import TestSupport
import Testing

@testable import EncodedMedia
@testable import ProgramSplicer

/// Pictures keep their order, however a host's packets are delayed.
@Suite struct BusyMachineTests {
    private enum Trouble: CaseIterable {
        case hold, hiccup, mix, later, sooner, reconnect, rebase, step, stepBack
    }

    @Test("pictures are shown in the order of their source, one after another", arguments: 0..<6)
    func order(part: Int) throws {
        var random = SeededGenerator(announcedFor: "BusyMachineTests.order")
        random = SeededGenerator(seed: random.seed &+ UInt64(part))
        for _ in 0..<TestLength.of(short: 6, long: 200) {
            var publisher = SimulatedPublisher(using: &random)
            publisher.fps = [15, 20, 25, 30, 60].randomElement(using: &random) ?? 25
            publisher.gop = publisher.fps * Int.random(in: 1...3, using: &random)
            publisher.reorder = Int.random(in: 0...3, using: &random)
            var room = BusyRoom()
            room.take(publisher.play(3), seconds: 3)
            try #require(room.splicer.onAir != nil)
            var note = "\(publisher.fps) fps, GOP \(publisher.gop), \(publisher.reorder) B-frames:"
            for _ in 0..<8 {
                let trouble = Trouble.allCases.randomElement(using: &random) ?? .hold
                let amount = MediaTime.milliseconds(Int.random(in: 300...1_500, using: &random))
                note += " \(trouble) \(amount.roundedMilliseconds)"
                switch trouble {
                case .hold: publisher.hold(for: amount)
                case .hiccup: publisher.hold(for: amount / 4)
                case .mix: room.wantsMix.toggle()
                case .later: publisher.delay(by: amount / 2)
                case .sooner: publisher.delay(by: -amount / 2)
                case .reconnect, .rebase:
                    let replay = publisher.reconnect(after: amount / 4, isRebased: trouble == .rebase)
                    room.take(replay, seconds: (amount / 4).inSeconds)
                case .step: publisher.step(by: amount)
                case .stepBack: publisher.step(by: -amount)
                }
                let pause = Double.random(in: 0.2...2, using: &random)
                room.take(publisher.play(pause), seconds: pause)
            }
            try Self.requireOrder(room.video, note)
            // Once the disturbances end, sound and picture have the distance at which they were recorded.
            room.wantsMix = false
            room.take(publisher.play(16), seconds: 16)
            try Self.requireOrder(room.video, note)
            try #require(room.splicer.onAir?.isMixer == false, "\(note)")
            let skew = try #require(Self.place(room.video)) - (try #require(Self.place(room.audio)))
            #expect(skew.magnitude < .milliseconds(12), "\(skew): \(note)")
        }
    }

    /// Returns program time minus recording time of the last frame.
    private static func place(_ sent: [BusyRoom.Sent]) -> MediaTime? {
        sent.last.flatMap { last in
            last.arrival.map { last.frame.pts - $0.recorded - ($0.frame.pts - $0.frame.dts) }
        }
    }

    /// Checks the order of pictures.
    ///
    /// - Throws: If a picture is not decoded after the previous one, or not displayed where its source displays it.
    private static func requireOrder(_ video: [BusyRoom.Sent], _ note: String) throws {
        for (left, right) in zip(video, video.dropFirst()) {
            try #require(right.frame.dts > left.frame.dts, "\(note)")
        }
        try #require(video.allSatisfy { $0.frame.pts >= $0.frame.dts }, "\(note)")
        let times = video.map(\.frame.pts.roundedMilliseconds)
        #expect(Set(times).count == times.count, "\(times.count - Set(times).count) times twice; \(note)")
        // The consecutive frames of one timeline of the source, or of a mixer, are displayed before the frames that
        // follow.
        var newest: MediaTime?
        var part: [BusyRoom.Sent] = []
        for (index, sent) in video.enumerated() {
            part.append(sent)
            let next = index + 1 < video.count ? video[index + 1] : nil
            if let next, (next.arrival == nil) == (sent.arrival == nil), next.own.dts > sent.own.dts { continue }
            for sent in part.sorted(by: { $0.own.pts < $1.own.pts }) {
                let time = sent.frame.pts
                try #require(
                    newest.map { time > $0 } ?? true,
                    "\(sent.arrival == nil ? "mixed" : "copied") \(time) after \(newest ?? .zero); \(note)")
                newest = time
            }
            part = []
        }
    }
}

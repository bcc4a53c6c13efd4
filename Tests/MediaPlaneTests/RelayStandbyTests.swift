import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import Testing

/// A relay that stops sending and later continues: with its own program, or with another relay's.
@Suite(.serialized, .timeLimit(.minutes(5))) struct RelayStandbyTests {
    private func apply(_ rig: RelayRig, outputs: [PushDestination] = []) async throws {
        rig.publish(
            "host", [try await TestStreams.video(count: 900), try await TestStreams.audio(count: 2100) { _ in 0 }])
        try rig.apply(
            .bypass("host/camera"), Scene(canvas: .portrait, panes: []),
            [PlannedSource(id: "host/camera", url: rig.url("host"))], outputs: outputs)
    }

    private func pictures(_ rig: RelayRig) -> [EncodedFrame] { rig.segments.flatMap(\.frames) }

    /// The destination is disconnected, and connected again; no picture is lost.
    @Test func aProgramStopsAndGoesOn() async throws {
        let server = try await OutputMediaServer.start()
        let rig = try await RelayRig()
        try await apply(rig, outputs: [PushDestination(id: "a", url: server.url("standby"))])
        #expect(try await outputEventually { rig.status?.outputs.destinations.first?.state == .live })
        try rig.standBy()
        #expect(try await outputEventually { rig.status?.isSilent == true })
        #expect(try await outputEventually { try await !server.isPublished("standby") })
        #expect(
            try await outputEventually {
                rig.status?.place?.last != nil && rig.status?.outputs.destinations.isEmpty == true
            })
        let place = try #require(rig.status?.place)
        #expect(rig.status?.onAir == .bypass)
        // Some may be in flight.
        var sent = -1
        while sent != pictures(rig).count {
            sent = pictures(rig).count
            try await Task.sleep(for: .milliseconds(200))
        }
        try await Task.sleep(for: .milliseconds(500))
        #expect(pictures(rig).count == sent, "nothing is sent")
        try rig.resume(place)
        #expect(try await outputEventually { pictures(rig).count > sent + 20 })
        #expect(try await outputEventually { try await server.isPublished("standby") })
        #expect(try await outputEventually { rig.status?.isSilent == false && rig.status?.place?.last == nil })
        let times = pictures(rig).map(\.dts)
        let steps = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(steps.allSatisfy { $0 > .zero }, "\(steps)")
        #expect((steps.max() ?? .zero) < (steps.sorted()[steps.count / 2]) * 2, "no picture is lost: \(steps)")
        try await rig.stop()
        await server.remove()
    }

    /// A prepared relay sends nothing until it continues after the last frame that another one has sent.
    @Test func anotherRelayGoesOn() async throws {
        let first = try await RelayRig()
        try await apply(first)
        #expect(try await outputEventually { pictures(first).count > 10 })
        let second = try await RelayRig()
        try second.standBy()
        try await apply(second)
        try await second.waitFor(.bypass)
        #expect(second.status?.isSilent == true && second.status?.place == nil)
        let stopped = MediaTime(nanoseconds: MonotonicClock.now())
        try first.standBy()
        #expect(try await outputEventually { first.status?.isSilent == true })
        #expect(pictures(second).isEmpty)
        let place = try #require(first.status?.place)
        let last = try #require(place.last)
        try second.resume(place)
        let pause = MediaTime(nanoseconds: MonotonicClock.now()) - stopped
        #expect(try await outputEventually { pictures(second).count > 20 })
        let begin = try #require(pictures(second).first)
        #expect(begin.isIDR && begin.dts > last && begin.dts - last < .seconds(3) + pause, "\(last) \(begin.dts)")
        let times = pictures(second).map(\.dts)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        let sound = second.sound.frames.map(\.dts)
        #expect(sound.allSatisfy { $0 > last } && zip(sound, sound.dropFirst()).allSatisfy { $0 < $1 })
        try await first.stop()
        try await second.stop()
    }
}

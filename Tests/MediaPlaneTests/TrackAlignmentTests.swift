import MediaSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramRelay

/// Pictures and sound of two demuxers, each of which counts from its own beginning.
@Suite struct TrackAlignmentTests {
    private static func segment(_ frame: EncodedFrame) -> [UInt8] {
        var writer = TransportStreamWriter()
        return writer.segment([frame], video: HLSProgram.video(1), audio: HLSProgram.audio)
    }

    /// - Parameter start: Time of the first picture, in seconds; the clock restarts at 95443.7.
    @Test(arguments: [0, 95_433.5, 95_433.7, 345_600], [-700, 0, 21, 700])
    func tracksAreAsFarApartAsTheirBytesSay(start: Double, distance: Int64) {
        let pictures = MediaTime.seconds(start + 1)
        for first in [Track.video, .audio] {
            let alignment = TrackAlignment()
            alignment.begins(.video, with: Self.segment(HLSProgram.picture(at: pictures, isIDR: true, size: 300)))
            alignment.begins(
                .audio, with: Self.segment(HLSProgram.sound(at: pictures + .milliseconds(distance))))
            let own: [Track: MediaTime] = [.video: .milliseconds(66), .audio: .zero]
            let order = first == .video ? [Track.video, .audio] : [.audio, .video]
            var times: [Track: MediaTime] = [:]
            for track in order {
                let time = own[track] ?? .zero
                times[track] = time + alignment.shift(of: track, at: time)
            }
            let found = (times[.audio] ?? .zero) - (times[.video] ?? .zero)
            #expect((found - .milliseconds(distance)).magnitude < .milliseconds(1), "\(found)")
            // The first frame of a track decides.
            #expect(
                alignment.shift(of: .audio, at: .seconds(9)) == (times[.audio] ?? .zero) - (own[.audio] ?? .zero))
        }
    }

    @Test func timesOfFragmentsAreThoseOfTheStream() {
        let alignment = TrackAlignment()
        for track in Track.allCases { alignment.begins(track, with: Array("....ftypiso5".utf8)) }
        #expect(alignment.shift(of: .audio, at: .seconds(400_000)).magnitude < .milliseconds(1))
        #expect(alignment.shift(of: .video, at: .seconds(400_001)).magnitude < .milliseconds(1))
    }
}

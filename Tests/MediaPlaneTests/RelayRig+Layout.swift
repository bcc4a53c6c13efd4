import Foundation

@testable import MediaFormats

extension RelayRig {
    /// A layout that the viewer got.
    struct Layout: Sendable {
        /// Users and the widths of their panes, as in `alice 360`.
        var regions: [String]
        /// Users whose streams the service cannot play alone.
        var notAlone: [String]
        /// Number of the program's pictures before it.
        var pictures: Int

        /// Creates a layout from a script tag's body; `nil` if that is anything else.
        init?(_ body: [UInt8], after segments: [TestTrack]) {
            struct Read: Decodable {
                struct Region: Decodable { var uid: String, w: Int, alone: Bool? }
                var regions: [Region]
            }
            guard let cue = FLVCue(body: body), cue.name == FLVCue.layout,
                let read = try? JSONDecoder().decode(Read.self, from: Data(cue.text.utf8))
            else { return nil }
            regions = read.regions.map { "\($0.uid) \($0.w)" }
            notAlone = read.regions.filter { $0.alone == false }.map(\.uid)
            pictures = segments.reduce(0) { $0 + $1.frames.count }
        }
    }
}

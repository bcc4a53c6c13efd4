import EncodedMedia
import Foundation
import MixModel

/// The number of threads that encode a picture. Pure.
///
/// Each thread encodes a slice, so more threads cost some quality and some processor time. There are only as many as
/// the canvas needs to be encoded in real time.
enum EncoderThreads {
    /// Returns the megapixels per second that one thread encodes with the mixer's own settings and a reserve: about two
    /// thirds of the measured rate of one processor (docs/adr/0040; `veryfast` reached 64, and the own settings take
    /// 0.61 of its time). H.265 at `superfast`, the default for programs without a preset, counts as `veryfast`.
    static func megapixels(_ codec: VideoCodec?) -> Double { codec == .h265 ? 64 : 105 }

    /// - Parameters:
    ///   - number: Number for programs that set none; 0 means as many as the canvas needs.
    ///   - processors: Number of processors that this process may use.
    static func count(
        _ setup: MixerSetup, default number: Int, processors: Int = ProcessInfo.processInfo.activeProcessorCount
    ) -> Int {
        if let threads = setup.threads { return threads }
        if number > 0 { return number }
        let canvas = setup.canvas
        let effort = setup.preset?.effort(setup.videoCodec) ?? 1
        let load = Double(canvas.width) * Double(canvas.height) * Double(canvas.fps) / 1e6 * effort
        let needed = Int((load / megapixels(setup.videoCodec)).rounded(.up))
        return max(1, min(needed, processors, EncodingSettings.threadCounts.upperBound))
    }
}

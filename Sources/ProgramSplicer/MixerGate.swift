import EncodedMedia
import MixModel

/// The gate between a mixer and its relay. Reports that pass are within the bounds of any working mixer, no matter what
/// the mixer's process sends.
///
/// Without it, frames that come faster than real time, with rising times, would put the program ahead of the clock, and
/// every feed that takes over later would have to follow. The limits leave room for a mixer that catches up after it
/// stood still for a minute.
package struct MixerGate: Sendable {
    /// The bound that a mixer has exceeded, so that it must be replaced.
    package enum Excess: Error, Hashable, CustomStringConvertible {
        case rate(SourceGate.Excess)
        case early

        package var description: String {
            switch self {
            case .rate(let excess): "\(excess)"
            case .early: "it sends frames more than \(Int(MixerGate.lead.inSeconds)) s before their time"
            }
        }
    }

    /// Longest time before its own at which a frame may arrive. A mixer makes none more than 250 ms early.
    package static let lead = MediaTime.seconds(1)

    /// The largest canvas has 60 pictures per second, each with a report of delays, beside 47 frames of sound.
    private static let limits: SourceGate.Limits = {
        var limits = SourceGate.Limits()
        limits.items = SourceGate.Rate(perSecond: 500, burst: 12_000)
        return limits
    }()

    private var gate = SourceGate(limits: MixerGate.limits)

    package init() {}

    /// Checks a report.
    ///
    /// - Parameter now: Program time at which it is read, not before that of earlier reports.
    /// - Throws: The bound that the mixer has exceeded. Nothing more may be accepted from it.
    package mutating func check(_ report: MixerReport, now: MediaTime) throws(Excess) {
        let item: MediaItem =
            switch report {
            case .configuration(let configuration): .configuration(configuration)
            case .frame(let frame): .frame(frame)
            case .sourceFailed, .volumes, .delays, .note, .idle, .failed: .metadata([])
            }
        do throws(SourceGate.Excess) {
            _ = try gate.pass(item, now: now)
        } catch {
            throw .rate(error)
        }
        guard case .frame(let frame) = report else { return }
        guard max(frame.pts, frame.dts) <= now + Self.lead else { throw .early }
    }
}

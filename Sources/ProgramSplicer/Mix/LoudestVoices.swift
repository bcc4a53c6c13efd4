import Foundation
import MixModel

/// Chooses who is heard when only so many of the loudest shall be.
///
/// Each source's power is smoothed, quickly upwards and slowly downwards, so that the pauses between words cost nobody
/// their place. A free place goes to whoever speaks up; a taken one only to somebody who is clearly louder, and not
/// before its holder has had it for `hold`: nobody is cut off after a syllable, and two who speak equally loud do not
/// take turns. Below `floor` nobody takes a place: noise does not push aside who last spoke. While there are places for
/// everybody, everybody is heard.
public struct LoudestVoices: Sendable {
    /// A place is kept at least so long.
    public static let hold = MediaTime.milliseconds(300)
    /// A challenger must be so much louder, in power (3 dB).
    public static let margin: Float = 2
    /// Mean square of samples from which on a source takes a place (−50 dB of full scale).
    public static let floor: Float = 1e-5

    /// From one to the next call.
    private let frame: MediaTime
    /// What is left of a level after one call of silence: it falls by 40 dB a second.
    private let release: Float
    private var levels: [SourceID: Float] = [:]
    /// Who has a place, and for how long.
    private var holders: [SourceID: MediaTime] = [:]

    /// - Parameter frame: of how much sound each call tells.
    public init(frame: MediaTime) {
        self.frame = frame
        release = Float(pow(10, -4 * frame.inSeconds))
    }

    /// Takes the power of every source that may be heard, in the next `frame`, and tells who is heard in it.
    ///
    /// - Parameters:
    ///   - powers: Mean squares of the samples; a source that is left out is forgotten.
    ///   - most: Number of places; fewer than before takes them from the quietest at once.
    public mutating func choose(_ powers: [SourceID: Float], most: Int) -> Set<SourceID> {
        levels = powers.reduce(into: [:]) { levels, entry in
            let before = levels[entry.key] ?? self.levels[entry.key] ?? 0
            // Three quarters of a rise in one call: a beginning word is heard, a single click is not yet loud.
            levels[entry.key] =
                entry.value > before ? before + (entry.value - before) * 0.75 : max(entry.value, before * release)
        }
        holders = holders.filter { levels[$0.key] != nil }
        for id in holders.keys { holders[id, default: .zero] += frame }
        while holders.count > max(most, 0), let last = ranked(holders.keys).last { holders[last] = nil }
        guard powers.count > most else {
            for id in powers.keys where holders[id] == nil { holders[id] = .zero }
            return Set(powers.keys)
        }
        for challenger in ranked(levels.keys.filter { holders[$0] == nil }) {
            guard most > 0, level(challenger) >= Self.floor else { break }
            if holders.count < most {
                holders[challenger] = .zero
            } else if let weakest = ranked(holders.filter { $0.value >= Self.hold }.keys).last,
                level(challenger) > level(weakest) * Self.margin
            {
                holders[weakest] = nil
                holders[challenger] = .zero
            }
        }
        return Set(holders.keys)
    }

    private func level(_ id: SourceID) -> Float { levels[id] ?? 0 }

    /// Loudest first; by name where that says nothing, so that two runs are the same.
    private func ranked(_ ids: some Sequence<SourceID>) -> [SourceID] {
        ids.sorted { level($0) != level($1) ? level($0) > level($1) : $0 < $1 }
    }
}

import EncodedMedia
import Foundation
import MixModel

/// Chooses the participants who are heard when only a limited number of the loudest may be.
///
/// Each source's power is smoothed, quickly upwards and slowly downwards, so that the pauses between words do not cost
/// a participant their place. A free place goes to the first source that speaks. An occupied one goes only to a source
/// that is clearly louder, and only after its holder has had it for `hold`: no participant is cut off after a syllable,
/// and two equally loud speakers do not alternate. A source below `floor` gets no place, so that noise does not
/// displace the last speaker. As long as there are enough places, all sources are heard.
public struct LoudestVoices: Sendable {
    /// Shortest time for which a place is kept.
    public static let hold = MediaTime.milliseconds(300)
    /// Factor in power by which a challenger must be louder (3 dB).
    public static let margin: Float = 2
    /// Lowest mean square of samples with which a source gets a place (−50 dB of full scale).
    public static let floor: Float = 1e-5

    /// Time from one call to the next.
    private let frame: MediaTime
    /// Factor by which a level falls per call of silence: 40 dB a second.
    private let release: Float
    private var levels: [SourceID: Float] = [:]
    /// The sources that have a place, and for how long they have had it.
    private var holders: [SourceID: MediaTime] = [:]

    /// - Parameter frame: Duration of the audio that each call covers.
    public init(frame: MediaTime) {
        self.frame = frame
        release = Float(pow(10, -4 * frame.inSeconds))
    }

    /// Accepts the power of every source that may be heard in the next `frame`, and returns the sources that are heard
    /// in it.
    ///
    /// - Parameters:
    ///   - powers: Mean squares of the samples; an omitted source is forgotten.
    ///   - most: Number of places; if it decreases, the quietest sources lose their places at once.
    public mutating func choose(_ powers: [SourceID: Float], most: Int) -> Set<SourceID> {
        levels = powers.reduce(into: [:]) { levels, entry in
            let before = levels[entry.key] ?? self.levels[entry.key] ?? 0
            // Three quarters of a rise in one call: the beginning of a word is heard, but a single click is not loud
            // enough.
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

    /// Returns the loudest first, and equally loud ones by name, so that two runs give the same result.
    private func ranked(_ ids: some Sequence<SourceID>) -> [SourceID] {
        ids.sorted { level($0) != level($1) ? level($0) > level($1) : $0 < $1 }
    }
}

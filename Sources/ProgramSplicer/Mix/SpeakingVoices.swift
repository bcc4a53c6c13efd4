import EncodedMedia
import Foundation
import MixModel

/// Decides which participants speak, for the border around their panes.
///
/// A source speaks once it has been above `floor` for `attack`, so that a click or a cough does not count, and until it
/// has been below `release` for `hold`, so that the pauses between words do not make the border flicker.
public struct SpeakingVoices: Sendable {
    /// Mean square of samples from which a source may speak (−40 dB of full scale).
    public static let floor: Float = 1e-4
    /// Mean square of samples below which a source may stop (−46 dB).
    public static let release: Float = 2.5e-5
    public static let attack = MediaTime.milliseconds(60)
    public static let hold = MediaTime.milliseconds(700)

    private struct Voice {
        var isSpeaking = false
        /// Time for which the audio has indicated the other state.
        var other = MediaTime.zero
    }

    private let frame: MediaTime
    private var voices: [SourceID: Voice] = [:]
    /// The sources that are speaking.
    public private(set) var speaking: Set<SourceID> = []

    /// - Parameter frame: Duration of the audio that each call covers.
    public init(frame: MediaTime) { self.frame = frame }

    /// Accepts the audio levels of the next `frame`.
    ///
    /// - Parameter powers: Mean squares of the samples; an omitted source is forgotten.
    public mutating func take(_ powers: [SourceID: Float]) {
        voices = voices.filter { powers[$0.key] != nil }
        for (id, power) in powers {
            var voice = voices[id] ?? Voice()
            let changes = voice.isSpeaking ? power < Self.release : power >= Self.floor
            voice.other = changes ? voice.other + frame : .zero
            if voice.other >= (voice.isSpeaking ? Self.hold : Self.attack) {
                voice.isSpeaking.toggle()
                voice.other = .zero
            }
            voices[id] = voice
        }
        speaking = Set(voices.filter(\.value.isSpeaking).keys)
    }
}
